package v1

// List is one page of objects. Its kind is the one of the objects and "List",
// such as JobList.
type List[T any] struct {
	TypeMeta `json:",inline"`
	Metadata ListMeta `json:"metadata"`
	Items    []T      `json:"items"`
}

// ListMeta says where a page ends.
type ListMeta struct {
	// Continue gets the next page; it is empty on the last.
	Continue string `json:"continue,omitempty"`
}

// NewList returns a page of items. The kind is that of the objects, such as
// KindJob; next continues the list, and is empty at its end.
func NewList[T any](kind string, items []T, next string) List[T] {
	if items == nil {
		items = []T{} // prints as [], not as null
	}
	return List[T]{
		TypeMeta: TypeMeta{APIVersion: APIVersion, Kind: kind + KindList},
		Metadata: ListMeta{Continue: next},
		Items:    items,
	}
}

// Operation is what an apply did.
type Operation string

// The operations.
const (
	OperationCreated    Operation = "created"
	OperationConfigured Operation = "configured"
	OperationUnchanged  Operation = "unchanged"
)

// WatchType is what a line of a watch says.
type WatchType string

// Types of watch events. Before SYNCED come the objects that exist, after it
// the changes. A HEARTBEAT shows that the stream lives. An ERROR ends it.
const (
	WatchAdded     WatchType = "ADDED"
	WatchModified  WatchType = "MODIFIED"
	WatchDeleted   WatchType = "DELETED"
	WatchSynced    WatchType = "SYNCED"
	WatchHeartbeat WatchType = "HEARTBEAT"
	WatchError     WatchType = "ERROR"
)

// JobWatchEvent is one line of a watch. Object is set for ADDED, MODIFIED and
// DELETED, Error for ERROR.
type JobWatchEvent struct {
	Type   WatchType   `json:"type"`
	Object *Job        `json:"object,omitempty"`
	Error  *WatchFault `json:"error,omitempty"`
}

// WatchFault is why a watch ended, in the shape of an error response.
type WatchFault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}
