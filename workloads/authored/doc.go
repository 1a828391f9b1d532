// Package authored lets the control plane run workloads whose code it does not
// have: every part of them runs as a task on the workers that registered them.
//
// # Stages
//
// A Job has three stages, each with the leases and fences of any task:
//
//	plan    one task over the whole input; its result is a bundle of the plan and the shards
//	task    one task a shard; its result is a file of the workload's own
//	reduce  one task over a bundle of these files; its result is a bundle of the final file
//
// Between the stages the control plane reads the bundle, checks it, and writes all
// tasks of the next stage in one transaction or none. A plan is data: it
// holds parameters and names shards by their digest. One with a path, a
// command, an unknown field, or chunk indexes that are not 0, 1, 2, … is refused
// with the reason PlanInvalid, and the Job fails.
//
// # Bundles
//
// A bundle is a sequence of entries, each a line of JSON {"name", "size_bytes"}
// followed by so many bytes, and at last the line {"end":true}, so that one that
// was cut off is recognised. It is read and written as a stream.
package authored
