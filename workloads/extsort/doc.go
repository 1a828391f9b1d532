// Package extsort sorts and merges more items than fit in memory. What does not
// fit goes to temporary files, sorted; many sorted streams are merged a few at a
// time, so that neither memory nor file handles grow with their number.
package extsort
