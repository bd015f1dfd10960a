package apitest

// segmentSteps lists the requests of segments; they follow those of people.
func segmentSteps() []step {
	const (
		segments = "/api/v1/apps/acme/web/segments"
		people   = "/api/v1/apps/acme/web/people"
		vip      = `{"all":[{"field":"tag","op":"in","value":["vip"]},{"any":[{"field":"trait.email","op":"contains","value":"@acme"},{"field":"did_event","op":"within_days","value":7,"event":{"name":"order","count":2}}]}]}`
	)
	return []step{
		{name: "segments.list-empty", as: owner, method: "GET", path: segments},
		{name: "segments.put", as: owner, method: "POST", path: segments + "?env=staging", body: `{"name":" Important ","definition":` + vip + `}`, keep: map[string]string{"vip": "id"}},
		{name: "segments.put-static", as: owner, method: "POST", path: segments + "?env=staging", body: `{"name":"Chosen","kind":"static","memberIds":["{ada}","{ada}","per_0000000000000"]}`, keep: map[string]string{"chosen": "id"}},
		{name: "segments.put-replace", as: owner, method: "POST", path: segments + "?env=staging", body: `{"id":"{chosen}","name":"Chosen people","kind":"static","memberIds":["{ada}","{unknown}"]}`},
		{name: "segments.put-missing", as: owner, method: "POST", path: segments, body: `{"id":"seg_0","name":"Gone","definition":{"all":[{"field":"stage","op":"eq","value":"lead"}]}}`},
		{name: "segments.put-invalid", as: owner, method: "POST", path: segments, body: `{"name":"","kind":"round","definition":{"all":[{"field":"shoe","op":"eq"},{"any":[{"field":"stage","op":"eq","value":"king"}]}]},"memberIds":["ada"]}`},
		{name: "segments.put-without-definition", as: owner, method: "POST", path: segments, body: `{"name":"Nobody"}`},
		{name: "segments.put-masked", as: viewer, method: "POST", path: segments, body: `{"name":"Ada","definition":` + vip + `}`},
		{name: "segments.list", as: owner, method: "GET", path: segments + "?env=staging"},
		{name: "segments.list-page", as: owner, method: "GET", path: segments + "?env=staging&limit=1", keep: map[string]string{"segments": "nextCursor"}},
		{name: "segments.list-next", as: owner, method: "GET", path: segments + "?env=staging&limit=1&cursor={segments}"},
		{name: "segments.list-masked", as: viewer, method: "GET", path: segments + "?env=staging"},
		{name: "segments.list-invalid", as: owner, method: "GET", path: segments + "?env=moon&limit=0"},
		{name: "segments.members", as: owner, method: "GET", path: segments + "/{vip}/members?env=staging"},
		{name: "segments.members-static", as: viewer, method: "GET", path: segments + "/{chosen}/members?env=staging&limit=1", keep: map[string]string{"members": "nextCursor"}},
		{name: "segments.members-next", as: viewer, method: "GET", path: segments + "/{chosen}/members?env=staging&limit=1&cursor={members}"},
		{name: "segments.members-missing", as: owner, method: "GET", path: segments + "/seg_0/members"},
		{name: "segments.preview", as: owner, method: "POST", path: segments + "/preview?env=staging", body: `{"definition":{"any":[{"field":"device","op":"eq","value":"desktop"},{"field":"sessions","op":"gt","value":3}]}}`},
		{name: "segments.preview-masked", as: viewer, method: "POST", path: segments + "/preview?env=staging", body: `{"definition":{"all":[{"field":"stage","op":"neq","value":"visitor"}]}}`},
		{name: "segments.preview-personal", as: viewer, method: "POST", path: segments + "/preview?env=staging", body: `{"definition":{"all":[{"field":"trait.phone","op":"exists"},{"field":"trait.email","op":"eq","value":"ada@acme.example"}]}}`},
		{name: "segments.preview-invalid", as: owner, method: "POST", path: segments + "/preview", body: `{"definition":{"all":[{"field":"last_seen_at","op":"within_days","value":"soon"}]}}`},
		{name: "people.list-segment", as: owner, method: "GET", path: people + "?env=staging&segment={chosen}&q=ada"},
		{name: "people.list-unknown-segment", as: owner, method: "GET", path: people + "?env=staging&segment=seg_0"},
		{name: "analytics.overview-segment", as: owner, method: "GET", path: "/api/v1/apps/acme/web/analytics/overview?env=staging&filter=segment:{vip}"},
		{name: "analytics.overview-unknown-segment", as: owner, method: "GET", path: "/api/v1/apps/acme/web/analytics/overview?env=staging&filter=segment:seg_0"},
		{name: "segments.delete", as: owner, method: "DELETE", path: segments + "/{chosen}"},
		{name: "segments.delete-missing", as: owner, method: "DELETE", path: segments + "/{chosen}"},
	}
}
