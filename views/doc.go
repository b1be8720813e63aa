// Package views draws the pages: templ components over typed view-models.
//
//	handler -> view-model -> component(view-model) -> Layout(shell of the context) -> HTML
//
// It imports no domain package: handlers translate. What every page needs (who is signed in, the
// path, the theme, the request id) is the Shell in the context; the language and the time zone are
// the Locale of package i18n, there as well; the nonce of the policy is templ's. All texts come
// from message files. Each page has one h1, a title of its own, a skip link and landmarks; pages
// that answer an order carry data-outcome on the main element.
package views
