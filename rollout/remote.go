package rollout

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/open-feature/go-sdk-contrib/providers/ofrep"
	of "github.com/open-feature/go-sdk/openfeature"
)

// remoteWait bounds one question to a remote provider: pages wait for it.
const remoteWait = time.Second

// CheckRemote says what is wrong with the address of a remote provider.
func CheckRemote(base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return errors.New("must be like https://flags.example, without user, query or fragment")
	}
	return nil
}

// NewRemote asks a server over the OpenFeature Remote Evaluation Protocol instead of the rows. Its
// answers drive pages alone: holds are decided by the rows. While it cannot be asked, or answers
// nonsense, the default, off, counts.
func NewRemote(base string) (of.FeatureProvider, error) {
	if err := CheckRemote(base); err != nil {
		return nil, err
	}
	client := &http.Client{
		Timeout: remoteWait,
		// The configured server answers, not whoever it points at.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return ofrep.NewProvider(base, ofrep.WithClient(client)), nil
}
