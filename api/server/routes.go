package server

// role is what a token opens.
type role int

const (
	roleNone     role = iota // anybody
	roleWorker               // workers and operators
	roleOperator             // operators alone
)

// body is what a request's body may be.
type body int

const (
	bodyNone      body = iota
	bodyJSON           // read whole, checked to be one JSON document
	bodyJob            // JSON or YAML, read whole
	bodyText           // read whole
	bodyMultipart      // a stream
	bodyRaw            // a stream of any type
)

// Limits of bodies that are read whole.
const (
	maxSmallBody = 1 << 20
	maxJobBody   = 16 << 20 // a Job may name 100,000 chunks
	maxLogBody   = 64 << 10
)

// route is what is known of a request before any handler sees it.
type route struct {
	role role
	body body
	// limit bounds a body that is read whole.
	limit int64
	// stream marks responses that are bounded by their progress, not in time.
	stream bool
	// quiet routes are logged at debug level while they succeed: there are
	// many of them, and each leaves its trace in the database or in metrics.
	quiet bool
}

// routes are all endpoints by method and path.
var routes = map[string]route{
	"POST /workers/register":                    {role: roleWorker, body: bodyJSON, limit: maxSmallBody},
	"POST /tasks/claim":                         {role: roleWorker, body: bodyJSON, limit: maxSmallBody, quiet: true},
	"POST /tasks/{task_id}/heartbeat":           {role: roleWorker, body: bodyJSON, limit: maxSmallBody, quiet: true},
	"GET /tasks/{task_id}/input":                {role: roleWorker, stream: true, quiet: true},
	"PUT /tasks/{task_id}/artifacts/{filename}": {role: roleWorker, body: bodyRaw, quiet: true},
	"POST /tasks/{task_id}/result":              {role: roleWorker, body: bodyJSON, limit: maxSmallBody, quiet: true},
	"POST /tasks/{task_id}/failure":             {role: roleWorker, body: bodyJSON, limit: maxSmallBody},
	"POST /tasks/{task_id}/release":             {role: roleWorker, body: bodyJSON, limit: maxSmallBody},
	"PUT /tasks/{task_id}/logs/{seq}":           {role: roleWorker, body: bodyText, limit: maxLogBody, quiet: true},

	"GET /jobs":                {role: roleOperator, stream: true},
	"POST /jobs":               {role: roleOperator, body: bodyJob, limit: maxJobBody},
	"POST /jobs/upload":        {role: roleOperator, body: bodyMultipart},
	"GET /jobs/{name}":         {role: roleOperator},
	"PUT /jobs/{name}":         {role: roleOperator, body: bodyJob, limit: maxJobBody},
	"DELETE /jobs/{name}":      {role: roleOperator},
	"POST /jobs/{name}/cancel": {role: roleOperator},
	"GET /jobs/{name}/tasks":   {role: roleOperator},
	"GET /jobs/{name}/events":  {role: roleOperator},
	"GET /jobs/{name}/result":  {role: roleOperator, stream: true},
	"GET /jobs/{name}/rejects": {role: roleOperator, stream: true},
	"GET /jobs/{name}/why":     {role: roleOperator},

	"GET /tasks":             {role: roleOperator},
	"GET /tasks/{task}":      {role: roleOperator},
	"GET /tasks/{task}/logs": {role: roleOperator, stream: true},

	"GET /artifacts":                        {role: roleOperator},
	"POST /artifacts":                       {role: roleOperator, body: bodyRaw},
	"GET /artifacts/{artifact_id}":          {role: roleOperator},
	"GET /artifacts/{artifact_id}/download": {role: roleWorker, stream: true},

	"GET /workers":             {role: roleOperator},
	"GET /workers/{worker_id}": {role: roleOperator},
	"GET /workloads":           {role: roleOperator},
	"GET /workloads/{name}":    {role: roleOperator},
	"GET /controllers":         {role: roleOperator},
	"GET /events":              {role: roleOperator},

	"GET /healthz":      {quiet: true},
	"GET /health":       {quiet: true},
	"GET /readyz":       {quiet: true},
	"GET /metrics":      {quiet: true},
	"GET /version":      {quiet: true},
	"GET /openapi.yaml": {quiet: true},
}
