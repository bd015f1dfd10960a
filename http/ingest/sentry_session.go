package ingest

import (
	"slices"
	"strconv"
	"time"

	"svc"
	"svc/http/sentry"
	"svc/protos"
)

// sessions takes an item of type session or sessions: it becomes points of svc.SessionMetric. The SDK
// is told nothing of an item that cannot be read, since it could do nothing about it.
func (s *Sentry) sessions(sub *submission, index int, payload []byte, parse func(payload []byte) ([]sentry.Sessions, error)) {
	if !slices.Contains(sub.collector.Modules, svc.ModuleErrors) {
		return
	}
	counted, err := parse(payload)
	if err != nil {
		sub.reject(index, "malformed", err.Error())
		return
	}
	sum := sumJSON(payload)
	for n, one := range counted {
		at := one.At
		if at.After(sub.now.Add(svc.FutureTolerance)) || !sub.isKept(at.UnixMilli()) {
			at = sub.now
		}
		point := &protos.MetricPoint{
			Id: one.ID, TsMs: at.UnixMilli(), Name: svc.SessionMetric, Kind: string(svc.MetricCounter), Values: []float64{float64(one.Count)},
		}
		if point.Id == "" {
			point.Id = sub.derivedID(pointPrefix+strconv.Itoa(n)+"_", sum, at.Format(time.RFC3339Nano), index, false)
		}
		labels := []svc.Label{{Key: "release", Value: one.Release}, {Key: "status", Value: string(one.Status)}}
		if code, message := sub.putPoint(point, labels); code != "" {
			sub.reject(index, code, message)
		}
	}
}
