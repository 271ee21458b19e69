// Package engine carries the tasks of a campaign to workers and their answers back, over NATS JetStream.
//
// # The model
//
// A campaign has three things in JetStream. Their names end with its id, the first characters of the digest of its
// plan.
//
//   - The stream of tasks is a work queue: a task is in it from [Campaign.Ask] until a worker acknowledges it, and at
//     most once. Who takes a task says again and again that it is at work; if it does not for [AckWait], the task is
//     given to another.
//   - The stream of answers is a log. A worker writes its answer into it, and acknowledges the task when the server has
//     synced the answer to its disk. The coordinator reads it in order, and removes what its own records hold.
//   - The store of bodies has what is too large for a message: the plan, large answers and questions, and in the end the
//     report, which tells those who come late that the campaign has ended.
//
// So a task is answered at least once. Whoever dies between answer and acknowledgement leaves a task that is done
// twice: the coordinator counts it once, by the number of the unit. Heartbeats and the question how far the campaign is
// are plain messages of NATS, which may be lost.
package engine
