// Package reconcile runs reconcilers: loops that move the state of objects
// towards what is desired, one key at a time. It knows no job and no database,
// and imports nothing else of this module.
//
// A Controller joins one Reconciler, a queue of keys, and the sources that
// feed it. A Manager runs the controllers of a process.
//
//	Periodic ───────── AddResync ─┐   ┌────────── queue ──────────┐
//	Notifications ─┐              ├──▶│ edges, resyncs, delayed   │──▶ workers ──▶ Reconciler
//	Channel, … ────┴── Add ───────┘   └────────────▲──────────────┘                    │
//	                                               └── back-off, RequeueAfter ◀────────┘
//
// # What is authoritative
//
// The objects, wherever the reconciler reads them. A key in the queue says
// only that an object is worth a look. Nothing here is written down: a process
// that starts knows nothing and learns all keys from the first resync.
//
// # What may be lost
//
// A notification, always. It makes reconciling prompt, and the resync makes it
// certain: Periodic lists every key at the start, at each interval, and after
// each connection that Notifications makes, so that the age of an unseen
// change is bounded by the interval. Keys in the queue are dropped when a
// controller stops, as are waits: back-off and RequeueAfter begin anew in the
// next process, with the first resync.
//
// Once added, and until its controller stops, a key is not lost: a reconcile
// begins after the last Add of it. Several adds before that are one.
//
// # What never happens
//
// Two workers of a controller never reconcile one key at once. Workers of two
// processes may, and two controllers may work on one object: the reconciler's
// guarded write decides who takes a step, and the other meets a conflict.
//
// A resync does not hold up edges, of which a few go ahead of each of its
// keys, and a flood of edges does not hold up a resync, which gets every fifth
// turn. A resync keeps a page of keys and a bounded backlog in memory, however
// many objects there are.
//
// # What happens on failure
//
// Every reconcile ends in one of these ways, counted in the metric
// scimesh_reconcile_total:
//
//	success        until the next event
//	requeue_after  again after a known time
//	conflict       again with back-off; a lost race, not an error
//	error          again with back-off
//	panic          again with back-off; the stack is logged
//	terminal       until the next event, a resync included; a user must act
//	interrupted    dropped; the drain of a stopping controller cancelled it
//
// Back-off grows with each failure of a key in a row, is jittered, and affects
// no other key. It is ended early by an event of that key. Success, a terminal
// error and RequeueAfter end the row.
//
// A reconcile that outlasts its timeout has its context ended. A resync that
// fails to list goes on from the page where it stopped. A lost connection of
// Notifications is made anew, with back-off. A source that returns an error, or
// a controller that cannot start, stops the Manager, for a process that
// reconciles in part is worse than one that is restarted.
//
// To stop, a controller takes no further key, lets running reconciles finish
// for a while, then cancels their contexts, and at last names the keys that
// ignored it.
//
// # Time
//
// Every wait is measured by the clock in the options, so that tests can turn
// it, except the reconcile timeout. The package also runs within the bubbles of
// testing/synctest.
package reconcile
