// Package web is the dashboard: server-rendered pages below /ui, a little plain
// JavaScript beside them, all of it embedded.
//
// # What is authoritative
//
// A page is a picture of the database at one moment. Every number on it comes
// from there; nothing is kept in this package but the limiter of sign-ins and
// the watchers of GET /ui/live. What a person does goes the way of every other
// client: through the API's handler, in the process, with the rules of the API.
//
// # How pages stay fresh
//
// Parts of a page that change carry the attribute data-live. The script of the
// page listens on GET /ui/live, which says only that something changed; then
// it asks for the address of the page again, naming in the header Ui-Regions
// the parts that are on the screen, and puts what differs in their place. When
// the stream breaks it asks every few seconds instead. Without JavaScript
// everything but uploads and structures works, by reloading.
//
// # What keeps strangers out
//
//	host      only names by which this coordinator is known are answered
//	origin    what changes anything must come from a page of this very origin
//	session   a random cookie, HttpOnly and SameSite=Strict; the database holds
//	          its HMAC under the operator's token, so any coordinator knows it,
//	          it can be revoked, and a new token ends it
//	sign-in   with the operator's token alone, rate-limited
//	policy    no inline script or style, nothing of another origin; RDKit, which
//	          needs eval, runs in a worker that has no page and sees SMILES alone
//
// Texts that users or workers wrote reach a page through html/template, a CSV
// through csvCell, a file name through the API's Content-Disposition.
package web
