package views

// APIPage explains the interface for programs. Summaries, texts and names are those of its
// description and come in English alone.
type APIPage struct {
	Spec   string // address of the description
	Groups []APIGroup
}

// APIGroup is a heading with its operations.
type APIGroup struct {
	Name       string
	Operations []APIOperation
}

// APIOperation is one method of one address.
type APIOperation struct {
	Method, Path, Summary, Text string
	Takes                       []APIField
	Answers                     []APIAnswer
}

// APIField is one thing that a request may carry. In is path, query, header or body.
type APIField struct {
	Name, In, Type, Text string
	Required             bool
}

// APIAnswer is a status with the object, or the problems, that it comes with.
type APIAnswer struct {
	Status, Object string
	Problems       []string
}
