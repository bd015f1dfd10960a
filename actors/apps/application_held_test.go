package apps

import (
	"reflect"
	"testing"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/share"
)

// TestADeletionLeavesNothingOfAnApplication fills every map and struct in the state of an application by reflection,
// and deletes the application. Every entry must be deleted from the store, and the state must be empty. The test
// reports a forgotten field by its name.
func TestADeletionLeavesNothingOfAnApplication(t *testing.T) {
	created := newTestApp(1, "Shop", actorstest.At(0))
	app := &application{
		app: &created, publishPage: func(domain.Version, domain.Application, share.Share) {}, remove: func(domain.Version, domain.Application) {},
	}
	state := reflect.ValueOf(app).Elem()
	var names []string
	for i := range state.NumField() {
		field := state.Field(i)
		name := state.Type().Field(i).Name
		writable := reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem()
		switch field.Kind() {
		case reflect.Map:
			writable.Set(reflect.MakeMap(field.Type()))
			writable.SetMapIndex(reflect.ValueOf("id_of_"+name), reflect.Zero(field.Type().Elem()))
		case reflect.Struct:
			writable.Field(0).SetString("filled")
		default:
			continue
		}
		names = append(names, name)
	}
	if len(names) < 5 {
		t.Fatalf("the state has the fields %v only", names)
	}
	outcome, err := app.onDelete(time.Time{}, deleteApp{App: created.Deleted(actorstest.At(time.Hour))})
	if err != nil {
		t.Fatal(err)
	}
	deleted := map[string]bool{}
	for _, write := range outcome.Writes {
		deleted[write.ID] = deleted[write.ID] || reflect.DeepEqual(write, grain.Delete(write.Kind, write.ID))
	}
	for i := range state.NumField() {
		field, name := state.Field(i), state.Type().Field(i).Name
		if field.Kind() == reflect.Map && (!deleted["id_of_"+name] || field.Len() != 0) || field.Kind() == reflect.Struct && !field.IsZero() {
			t.Errorf("the deletion forgets %s", name)
		}
	}
}
