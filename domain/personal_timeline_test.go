package domain_test

import (
	"testing"

	"svc/domain"
)

// TestEntriesOfTimelinesNameNoPerson masks the data of entries: names of events and of errors, and free content.
func TestEntriesOfTimelinesNameNoPerson(t *testing.T) {
	for document, want := range map[string]string{
		`{"kind":"event","data":{"name":"page_view","sessionId":"ses_1","distinctId":"zoe@a.example","properties":{"name":"Zoe"}}}`: `{"kind":"event","data":{"name":"page_view","sessionId":"ses_1","distinctId":"z************","properties":{"name":"Z**"}}}`,
		`{"kind":"error","data":{"name":"TypeError"}}`:                                       `{"kind":"error","data":{"name":"TypeError"}}`,
		`{"kind":"activity","data":{"by":{"id":"usr_1","name":"Ada"},"crm":{"phone":"12"}}}`: `{"kind":"activity","data":{"by":{"id":"usr_1","name":"Ada"},"crm":{"phone":"1*"}}}`,
		`{"kind":"person","data":{"name":"Zoe","sessionId":"ses_1"}}`:                        `{"kind":"person","data":{"name":"Z**","sessionId":"s****"}}`,
		`{"data":{"name":"Zoe"}}`:                                                            `{"data":{"name":"Z**"}}`,
		`{"properties":{"kind":"event","data":{"name":"Zoe"}}}`:                              `{"properties":{"kind":"event","data":{"name":"Z**"}}}`,
	} {
		if got := string(domain.MaskDocument([]byte(document), domain.PersonalMask{})); got != want {
			t.Errorf("%s is shown as %s, want %s", document, got, want)
		}
	}
}
