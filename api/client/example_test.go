package client_test

import (
	"context"
	"fmt"
	"os"

	"scimesh.dev/scimesh/api/client"
	v1 "scimesh.dev/scimesh/api/v1"
	"scimesh.dev/scimesh/api/wire"
)

// Apply a Job from a manifest, wait for its end and download the result.
func Example() {
	ctx := context.Background()
	c, err := client.New("https://scimesh.example.org", os.Getenv("SCIMESH_TOKEN"), client.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	manifest, err := os.ReadFile("job.yaml")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	job, err := v1.DecodeJob(manifest)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	job, operation, err := c.ApplyJob(ctx, job, false)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	fmt.Printf("job/%s %s\n", job.Metadata.Name, operation)

	for event, err := range c.WatchJobs(ctx, wire.ListJobsParams{Name: &job.Metadata.Name}) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		if event.Object != nil && event.Object.Status.Phase.Final() {
			break
		}
	}
	size, err := c.DownloadFile(ctx, client.Download{URI: "jobs/" + job.Metadata.Name + "/result"}, "result.csv")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	fmt.Printf("result.csv: %d bytes\n", size)
}
