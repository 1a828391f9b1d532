package store

import (
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// The driver knows uuid.UUID as a value of database/sql alone: it would make a
// text of each one and read that again. Here it learns the bytes.

// uuidValue is a uuid.UUID in the terms of the driver.
type uuidValue uuid.UUID

// UUIDValue implements pgtype.UUIDValuer.
func (v uuidValue) UUIDValue() (pgtype.UUID, error) {
	return pgtype.UUID{Bytes: v, Valid: true}, nil
}

var errNullUUID = errors.New("NULL read into a uuid.UUID")

// ScanUUID implements pgtype.UUIDScanner.
func (v *uuidValue) ScanUUID(u pgtype.UUID) error {
	if !u.Valid {
		return errNullUUID
	}
	*v = u.Bytes
	return nil
}

func registerUUID(m *pgtype.Map) {
	m.TryWrapEncodePlanFuncs = append([]pgtype.TryWrapEncodePlanFunc{wrapUUIDEncode}, m.TryWrapEncodePlanFuncs...)
	m.TryWrapScanPlanFuncs = append([]pgtype.TryWrapScanPlanFunc{wrapUUIDScan}, m.TryWrapScanPlanFuncs...)
}

func wrapUUIDEncode(value any) (plan pgtype.WrappedEncodePlanNextSetter, next any, ok bool) {
	v, ok := value.(uuid.UUID)
	if !ok {
		return nil, nil, false
	}
	return &encodeUUID{}, uuidValue(v), true
}

func wrapUUIDScan(target any) (plan pgtype.WrappedScanPlanNextSetter, next any, ok bool) {
	v, ok := target.(*uuid.UUID)
	if !ok {
		return nil, nil, false
	}
	return &scanUUID{}, (*uuidValue)(v), true
}

type encodeUUID struct{ next pgtype.EncodePlan }

func (p *encodeUUID) SetNext(next pgtype.EncodePlan) { p.next = next }

func (p *encodeUUID) Encode(value any, buf []byte) ([]byte, error) {
	return p.next.Encode(uuidValue(value.(uuid.UUID)), buf)
}

type scanUUID struct{ next pgtype.ScanPlan }

func (p *scanUUID) SetNext(next pgtype.ScanPlan) { p.next = next }

func (p *scanUUID) Scan(src []byte, target any) error {
	return p.next.Scan(src, (*uuidValue)(target.(*uuid.UUID)))
}
