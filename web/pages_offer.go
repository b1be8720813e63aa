package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ironhold/allocator"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// classID reads the number of a group; only its one spelling counts.
func classID(text string) (int, bool) {
	id, err := strconv.ParseInt(text, 10, 32)
	return int(id), err == nil && id > 0 && strconv.FormatInt(id, 10) == text
}

// readClasses are the groups that are ticked, each once, no more than stand side by side and one,
// so that too many can be told.
func readClasses(query url.Values) []int {
	var out []int
	for _, text := range query["class"] {
		if id, ok := classID(text); ok && !slices.Contains(out, id) && len(out) <= views.MaxCompared {
			out = append(out, id)
		}
	}
	return out
}

func classFields(ids []int) []views.Hidden {
	var out []views.Hidden
	for _, id := range ids {
		out = append(out, views.Hidden{Name: "class", Value: strconv.Itoa(id)})
	}
	return out
}

// showOffer is one group of equal machines with all its facts.
func (s *server) showOffer(w http.ResponseWriter, r *http.Request) error {
	id, ok := classID(request.PathValue(r, "class"))
	if !ok {
		return problem.NoSuch()
	}
	actor := request.Actor(r.Context())
	ctx := i18n.With(r.Context(), s.locale(r))
	found, err := s.Allocator.ClassOffers(ctx, actor.OrgID, id)
	if err != nil {
		return err
	}
	if len(found.Items) == 0 {
		return problem.NoSuch()
	}
	c, err := s.readChoices(ctx)
	if err != nil {
		return err
	}
	o := found.Items[0]
	m := views.OfferPage{
		Offer: offerFor(o, c, actor), AsOf: found.AsOf, NextFreeAt: o.NextFreeAt,
		Compare: "/offers?class=" + strconv.Itoa(id), Wait: hiddenFields(formValues(requestFor(o.Class.Spec), "")),
	}
	if o.Tag != "" && mayOrder(actor) {
		m.OrderThis = orderURL(allocator.Request{Machine: o.Tag}, "", "review")
	}
	if m.Off, err = s.offFor(ctx, actor.OrgID); err != nil {
		return err
	}
	shown := m
	shown.AsOf = time.Time{}
	return s.renderLive(w, r, "stock", shown, views.OfferDetail(m))
}

// compare puts up to four groups side by side.
func (s *server) compare(w http.ResponseWriter, r *http.Request) error {
	actor := request.Actor(r.Context())
	ctx := i18n.With(r.Context(), s.locale(r))
	query := r.URL.Query()
	ids := readClasses(query)
	m := views.ComparePage{TooMany: len(ids) > views.MaxCompared}
	ids = ids[:min(len(ids), views.MaxCompared)]
	found, err := s.Allocator.ClassOffers(ctx, actor.OrgID, ids...)
	if err != nil {
		return err
	}
	c, err := s.readChoices(ctx)
	if err != nil {
		return err
	}
	if m.Off, err = s.offFor(ctx, actor.OrgID); err != nil {
		return err
	}
	m.AsOf, m.Gone = found.AsOf, len(ids)-len(found.Items)
	var kept []int
	for _, o := range found.Items {
		kept = append(kept, o.Class.ID)
	}
	back := catalogueIn(query.Get("back"))
	m.Back = withClasses(back, kept)
	for i, o := range found.Items {
		without := withClasses(&url.URL{Path: "/offers/compare"}, slices.Delete(slices.Clone(kept), i, i+1))
		if list := back.String(); list != "/offers" {
			sep := "?"
			if strings.Contains(without, "?") {
				sep = "&"
			}
			without += sep + url.Values{"back": {list}}.Encode()
		}
		m.Items = append(m.Items, views.Compared{
			Offer: offerFor(o, c, actor), Without: without, Wait: hiddenFields(formValues(requestFor(o.Class.Spec), "")),
		})
	}
	shown := m
	shown.AsOf = time.Time{}
	return s.renderLive(w, r, "stock", shown, views.Compare(m))
}

// hoursCell is a number of hours in a file, or nothing where none is promised.
func hoursCell(hours int) string {
	if hours == 0 {
		return ""
	}
	return strconv.Itoa(hours)
}

// catalogueIn lets an address through that is one of the catalogue, without what is ticked in it.
func catalogueIn(text string) *url.URL {
	u, err := url.Parse(ownPath(text))
	if err != nil || u.Path != "/offers" {
		return &url.URL{Path: "/offers"}
	}
	q := u.Query()
	q.Del("class")
	return &url.URL{Path: "/offers", RawQuery: q.Encode()}
}

func withClasses(u *url.URL, ids []int) string {
	q := u.Query()
	for _, id := range ids {
		q.Add("class", strconv.Itoa(id))
	}
	return address(u.Path, q)
}

// offersFile is what the catalogue shows under the same filters and in the same order, all of it,
// as a file. Where the catalogue would say what is wrong with the filters, it does.
func (s *server) offersFile(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	query := r.URL.Query()
	list, _, _, faults, err := s.findOffers(ctx, query)
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		return seeOther(w, r, address("/offers", query))
	}
	c, err := s.readChoices(ctx)
	if err != nil {
		return err
	}
	out := newSheet(w, "ironhold-servers",
		"as_of", "id", "site", "site_name", "vendor", "model", "cpu", "cpu_count", "cores", "threads", "ram_gb", "ecc",
		"drives", "nvme_gb", "ssd_gb", "hdd_gb", "gpu", "network_mbps", "features", "price_month", "setup", "currency",
		"free", "total", "you_hold", "you_rent", "delivery_hours")
	asOf := list.AsOf.UTC().Format(time.RFC3339)
	for i := range list.Items {
		o := &list.Items[i]
		k := &o.Class.Spec
		var drives []string
		for _, d := range k.Drives {
			drives = append(drives, strconv.Itoa(d.GB)+" GB "+d.Kind)
		}
		n := strconv.Itoa
		out.row(asOf, n(o.Class.ID), k.SiteCode, c.siteName(k.SiteCode), k.Vendor, k.Model, k.CPU, n(k.CPUCount), n(k.Cores), n(k.Threads),
			n(k.RAMGB), strconv.FormatBool(k.ECC), strings.Join(drives, "; "), n(k.NVMeGB), n(k.SSDGB), n(k.HDDGB), k.GPU, n(k.NICMbps),
			strings.Join(k.Features, "; "), i18n.PlainMoney(k.PriceMonthMinor, k.Currency), i18n.PlainMoney(k.SetupMinor, k.Currency), k.Currency,
			n(o.Free), n(o.Total), n(o.YouHold), n(o.YouRent), hoursCell(c.delivery(k.SiteCode)))
		if i%csvPiece == csvPiece-1 {
			out.flush()
		}
	}
	out.flush()
	return nil
}
