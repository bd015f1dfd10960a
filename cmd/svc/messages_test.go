package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"svc/actors/grain"
)

// TestMessagesLoseNothing encodes and decodes the request and the answer of every method of every kind of actor, as a
// call does. Both sides must be equal. A method that is declared later is covered as well. Each type is tried with
// every field filled. It is also tried with pointers to zero values, which patches use for "clear".
func TestMessagesLoseNothing(t *testing.T) {
	messages := grain.Messages()
	if len(messages) < 200 {
		t.Fatalf("only %d methods are declared", len(messages))
	}
	for _, message := range messages {
		for side, kind := range map[string]reflect.Type{"request": message.Request, "answer": message.Answer} {
			name := fmt.Sprintf("%s %s, %s %s", message.Kind, message.Method, side, kind)
			for _, zeroes := range []bool{false, true} {
				sent := reflect.New(kind)
				filler := filler{zeroes: zeroes, open: map[reflect.Type]int{}}
				filler.fill(sent.Elem(), kind.String())
				for _, hidden := range filler.hidden {
					t.Errorf("%s: %s", name, hidden)
				}
				encoded, err := json.Marshal(sent.Elem().Interface())
				if err != nil {
					t.Errorf("%s: encoding: %v", name, err)
					continue
				}
				received := reflect.New(kind)
				if err := json.Unmarshal(encoded, received.Interface()); err != nil {
					t.Errorf("%s: decoding %s: %v", name, encoded, err)
					continue
				}
				for _, lost := range differences(sent.Elem(), received.Elem(), kind.Name()) {
					t.Errorf("%s: %s", name, lost)
				}
			}
		}
	}
}

// filler fills values of any type, each differently.
type filler struct {
	// zeroes leaves everything zero except for pointers, which point to zero values.
	zeroes bool
	// open counts the current fills of each type. It limits a type that contains itself.
	open map[reflect.Type]int
	next int
	// hidden lists the fields that no encoder sees.
	hidden []string
}

// maxNesting limits how often a type occurs within itself.
const maxNesting = 2

func (f *filler) fill(v reflect.Value, path string) {
	kind := v.Type()
	if kind == reflect.TypeFor[time.Time]() {
		f.next++
		if !f.zeroes {
			v.Set(reflect.ValueOf(time.Date(2026, 11, 27, 10, 0, f.next, 1e6, time.UTC)))
		}
		return
	}
	if kind == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes([]byte(`{"raw":1}`))
		return
	}
	if f.open[kind] >= maxNesting {
		return
	}
	f.open[kind]++
	defer func() { f.open[kind]-- }()
	switch v.Kind() {
	case reflect.Struct:
		f.fillStruct(v, path)
	case reflect.Pointer:
		v.Set(reflect.New(kind.Elem()))
		f.fill(v.Elem(), path)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(kind, 0, 2))
		if !f.zeroes {
			v.SetLen(2)
			f.fill(v.Index(0), path+"[0]")
			f.fill(v.Index(1), path+"[1]")
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), path+"[]")
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(kind))
		if !f.zeroes {
			key, value := reflect.New(kind.Key()).Elem(), reflect.New(kind.Elem()).Elem()
			f.fill(key, path+" key")
			f.fill(value, path+"{}")
			v.SetMapIndex(key, value)
		}
	case reflect.Interface:
		if !f.zeroes && kind.NumMethod() == 0 {
			v.Set(reflect.ValueOf("any"))
		}
	default:
		f.fillScalar(v, path)
	}
}

func (f *filler) fillStruct(v reflect.Value, path string) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		at := path + "." + field.Name
		if !field.IsExported() && !field.Anonymous {
			f.hidden = append(f.hidden, at+" is not exported, so it does not arrive")
			continue
		}
		f.fill(v.Field(i), at)
		if field.Anonymous && v.Field(i).Kind() == reflect.Struct {
			zeroHidden(v, v.Field(i))
		}
	}
}

// zeroHidden zeroes the fields of an embedded struct that a field of the outer struct hides by the same name. The
// record holds the outer field.
func zeroHidden(outer, embedded reflect.Value) {
	for i := range embedded.NumField() {
		promoted, found := outer.Type().FieldByName(embedded.Type().Field(i).Name)
		if found && len(promoted.Index) == 1 {
			embedded.Field(i).SetZero()
		}
	}
}

func (f *filler) fillScalar(v reflect.Value, path string) {
	f.next++
	if f.zeroes {
		return
	}
	switch {
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprintf("text%d", f.next))
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(int64(f.next % 100))
	case v.CanUint():
		v.SetUint(uint64(f.next % 100))
	case v.CanFloat():
		v.SetFloat(float64(f.next) + 0.5)
	default:
		f.hidden = append(f.hidden, fmt.Sprintf("%s is a %s, which has no form in JSON", path, v.Kind()))
	}
}

// differences lists the places at which two values differ. A slice or a map without elements equals nil.
func differences(sent, received reflect.Value, path string) (out []string) {
	differ := func() []string {
		return []string{fmt.Sprintf("%s was sent as %v and arrived as %v", path, sent, received)}
	}
	if at, ok := sent.Interface().(time.Time); ok {
		if !at.Equal(received.Interface().(time.Time)) {
			return differ()
		}
		return nil
	}
	switch sent.Kind() {
	case reflect.Struct:
		for i := range sent.NumField() {
			if field := sent.Type().Field(i); field.IsExported() {
				out = append(out, differences(sent.Field(i), received.Field(i), path+"."+field.Name)...)
			}
		}
		return out
	case reflect.Pointer, reflect.Interface:
		if sent.IsNil() || received.IsNil() {
			if sent.IsNil() != received.IsNil() {
				return differ()
			}
			return nil
		}
		return differences(sent.Elem(), received.Elem(), path)
	case reflect.Slice, reflect.Array, reflect.Map:
		if sent.Len() != received.Len() {
			return differ()
		}
		if sent.Kind() == reflect.Map {
			for _, key := range sent.MapKeys() {
				if !received.MapIndex(key).IsValid() {
					return differ()
				}
				out = append(out, differences(sent.MapIndex(key), received.MapIndex(key), path+"{}")...)
			}
			return out
		}
		for i := range sent.Len() {
			out = append(out, differences(sent.Index(i), received.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}
		return out
	default:
		if !reflect.DeepEqual(sent.Interface(), received.Interface()) {
			return differ()
		}
	}
	return nil
}
