package views

import (
	"github.com/a-h/templ"
)

// Field is a text input with everything that belongs to it.
type Field struct {
	ID, Name, Label, Hint, Error, Value string
	Type                                string // "text" unless given
	InputMode, Autocomplete, Unit, List string // List is the id of a datalist
	Required                            bool
	Short                               bool // a narrow input
	ReadOnly                            bool
}

func (f Field) name() string {
	if f.Name != "" {
		return f.Name
	}
	return f.ID
}

func (f Field) kind() string {
	if f.Type != "" {
		return f.Type
	}
	return "text"
}

func (f Field) attributes() templ.Attributes {
	a := describedBy(f.ID, f.Hint, f.Error)
	if f.Error != "" {
		a["aria-invalid"] = "true"
	}
	if f.Required {
		a["required"] = true
	}
	if f.InputMode != "" {
		a["inputmode"] = f.InputMode
	}
	if f.Autocomplete != "" {
		a["autocomplete"] = f.Autocomplete
	} else {
		a["autocomplete"] = "off"
	}
	if f.ReadOnly {
		a["readonly"] = true
	}
	if f.List != "" {
		a["list"] = f.List
	}
	if f.Short {
		a["class"] = "input-short"
	}
	return a
}

func describedBy(id, hint, problem string) templ.Attributes {
	ids := ""
	if hint != "" {
		ids = id + "-hint"
	}
	if problem != "" {
		if ids != "" {
			ids += " "
		}
		ids += id + "-error"
	}
	if ids == "" {
		return templ.Attributes{}
	}
	return templ.Attributes{"aria-describedby": ids}
}

// Choice is one checkbox or option.
type Choice struct {
	Name, Value, Label string
	Hint               string
	Chosen             bool
}

// Tab is one view of a list.
type Tab struct {
	Label, Href string
	Current     bool
}

func (f Fault) text() string {
	if f.Label == "" {
		return f.Message
	}
	return f.Label + ": " + f.Message
}

func languageName(lang string) string {
	switch lang {
	case "en":
		return "English"
	case "de":
		return "Deutsch"
	}
	return lang
}

func invalidName(invalid bool) string {
	if invalid {
		return "invalid"
	}
	return ""
}

func emptyKey(filtered bool) string {
	if filtered {
		return "offers.empty_filtered"
	}
	return "offers.empty_all"
}

func emptyHref(filtered bool) string {
	if filtered {
		return "/offers"
	}
	return ""
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func signInOutcome(asked bool) string {
	if asked {
		return "unauthenticated"
	}
	return ""
}
