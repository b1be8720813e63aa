package accounts

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the test must not depend on the machine
	"unicode/utf8"
)

func TestChosenPasswords(t *testing.T) {
	t.Parallel()
	about := []string{"ada.lindqvist@nordlys.example", "Ada Lindqvist", "Nordlys Analytics", "nordlys"}
	for password, want := range map[string]Weakness{
		"correct horse battery":         "",
		"tea with a llama at seven":     "",
		"nordlys customer demo":         "", // enough besides the name
		"Ärger mit dem Zug um 7":        "",
		"🐎🔋📎🧷🐢🌵🍋🧦🪁🛶🧲🥁":                  "",
		"一匹の馬が朝に牧場を走り抜ける":               "",
		"Xq9#vL2m!tRw8z":                "",
		"passwordpassword":              CommonPassword,
		"Password1234":                  CommonPassword,
		"P@ssw0rd1234":                  CommonPassword,
		"p a s s w o r d 1 2 3 4":       CommonPassword,
		"correcthorsebatterystaple":     CommonPassword,
		"Correct Horse Battery Staple":  CommonPassword,
		"Willkommen2026":                CommonPassword,
		"aaaaaaaaaaaa":                  CommonPassword,
		"abcabcabcabc":                  CommonPassword,
		"llama llama llama ":            CommonPassword,
		"------------":                  CommonPassword,
		"123456789012":                  CommonPassword,
		"qwertyuiopasdf":                CommonPassword,
		"zyxwvutsrqponm":                CommonPassword,
		"1qaz2wsx3edc":                  CommonPassword,
		"ada.lindqvist":                 PersonalPassword,
		"ada.lindqvist@nordlys.example": PersonalPassword,
		"LindqvistAda2026":              PersonalPassword,
		"Nordlys-Analytics-1":           PersonalPassword,
		"nordlysnordlysada":             PersonalPassword,
	} {
		err := checkChosen(password, about...)
		weak, _ := errors.AsType[*WeakPassword](err)
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", password, err)
		case want != "" && (weak == nil || weak.Weakness != want):
			t.Errorf("%q: %v, want %s", password, err, want)
		}
	}
	for _, password := range []string{"", "eleven char", strings.Repeat("tea ", 51), "not\xffutf-8 at all"} {
		if invalid, ok := errors.AsType[*Invalid](checkChosen(password)); !ok || invalid.Field != "password" {
			t.Errorf("%q was taken", password)
		}
	}
}

func TestCommonList(t *testing.T) {
	t.Parallel()
	n := 0
	for p := range strings.FieldsSeq(commonList) {
		n++
		if utf8.RuneCountInString(p) < MinPassword || p != strings.ToLower(p) {
			t.Errorf("%q does not belong on the list", p)
		}
		if checkChosen(p) == nil {
			t.Errorf("%q is taken", p)
		}
	}
	if n < 3000 {
		t.Errorf("%d passwords", n)
	}
}

func TestTimeZonesExist(t *testing.T) {
	t.Parallel()
	for _, z := range TimeZones() {
		if _, err := time.LoadLocation(z); err != nil {
			t.Error(err)
		}
	}
	if len(zones) < 400 {
		t.Errorf("%d zones", len(zones))
	}
}
