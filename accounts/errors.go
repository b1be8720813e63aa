package accounts

// Invalid says which value was not accepted and what is allowed.
type Invalid struct {
	Field   string // as the API and the commands spell it: "email", "max_holds", ...
	Message string
}

func (e *Invalid) Error() string { return e.Field + ": " + e.Message }

// NotFound says that there is no such thing, or none that the asker may know of.
type NotFound struct {
	What string // "organisation", "user", "token"
	ID   string // what was asked for
}

func (e *NotFound) Error() string { return "no " + e.What + " " + e.ID }

// Unauthenticated says that nobody stands behind a request: a wrong email or password, a disabled
// person, an unknown or revoked token. It never says which.
type Unauthenticated struct {
	Message string
}

func (e *Unauthenticated) Error() string { return e.Message }

func signInRefused() error {
	return &Unauthenticated{Message: "email or password is wrong, or the account is disabled"}
}

func tokenRefused() error {
	return &Unauthenticated{Message: "the token is unknown or revoked"}
}
