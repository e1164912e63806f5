import type { JSX } from 'preact'
import type { readSpeed } from '../../api/query/speed.ts'
import { readZone } from '../../api/query/time-range.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import { formatDuration } from '../../kernel/duration.ts'
import { dayLabel, durationTick, hourLabel, tickText } from '../kit/chart-figures.ts'
import { TimeChart, type TimeSlot } from '../kit/chart-times.tsx'
import { failedHref } from '../kit/href.ts'
import { grouped, type ZoneClock } from '../kit/values.tsx'

/** Requests and durations over time as charts. */

/** Speed by groups, as the API answers it. */
export type FoundSpeed = Awaited<ReturnType<Awaited<ReturnType<typeof readSpeed>>['page']>>
export type SpeedItem = FoundSpeed['items'][number]

/** An error rate in percent. */
export const percent = (rate: number): string =>
  `${(rate * 100).toFixed(rate > 0 && rate < 0.01 ? 2 : 1)} %`

/** A duration in words; empty where there is none. */
export const lasted = (ms: number | null): string => (ms === null ? '' : formatDuration(ms))

interface ChartsProps {
  /** By hour or day. */
  readonly times: FoundSpeed
  readonly query: { readonly tenant_id?: string; readonly tz?: string }
  readonly clock: ZoneClock
}

type Slot = Omit<TimeSlot, 'parts' | 'figures'> & { readonly item: SpeedItem | undefined }

/** Every hour or day of the range, also those without a request. */
function slotsOf({ times, query: { tenant_id, tz }, clock }: ChartsProps): readonly Slot[] {
  const [fromMs, toMs] = [fromTimestamp(times.from), fromTimestamp(times.to)]
  const found = new Map(times.items.map((item) => [fromTimestamp(item.key), item]))
  const zone = readZone(tz)
  const isDays = times.group_by === 'day'
  const periods = isDays ? zone.daysBetween(fromMs, toMs) : zone.hoursBetween(fromMs, toMs)
  const days = periods.map(({ name }) => name)
  return periods.map(({ name, fromMs: atMs, toMs: endMs }, index) => {
    const [day, time] = [clock.day(atMs), clock.time(atMs).slice(0, 5)]
    return {
      key: name,
      name: isDays ? day : `${day} ${time}`,
      label: isDays ? dayLabel(days, index) : hourLabel(day.slice(0, 6), time, periods.length),
      href: failedHref({ tenant_id, tz, from: toTimestamp(atMs), to: toTimestamp(endMs) }),
      item: found.get(atMs),
    }
  })
}

function requestsOf({ item, ...slot }: Slot): TimeSlot {
  if (item === undefined) return { ...slot, parts: [], figures: [] }
  const { failed, requests, error_rate: rate } = item
  const figures = [
    ['requests', grouped(String(requests))],
    ['failed', grouped(String(failed))],
    ['error rate', percent(rate)],
  ] as const
  const parts = [
    { tone: 'bad', from: 0, to: failed },
    { tone: 's1', from: failed, to: requests },
  ]
  return { ...slot, parts: parts.filter(({ from, to }) => to > from), figures }
}

function durationsOf({ item, ...slot }: Slot): TimeSlot {
  const { median_ms: median = null, p95_ms: p95 = null } = item ?? {}
  if (median === null || p95 === null) return { ...slot, parts: [], figures: [] }
  const figures = [
    ['median', lasted(median)],
    ['95 % within', lasted(p95)],
  ] as const
  const parts = [
    { tone: 's1 pale', from: 0, to: p95 },
    { tone: 's1', from: 0, to: median },
  ]
  return { ...slot, parts, figures }
}

/** Requests with their failures, and median and 95th percentile, by hour or day; none where there was no request. */
export function SpeedCharts(props: ChartsProps): JSX.Element | null {
  const { total, group_by: group } = props.times
  if (total.requests === 0) return null
  const slots = slotsOf(props)
  return (
    <div class={slots.length > 40 ? 'charts wide' : 'charts'}>
      <TimeChart
        title={`Requests by ${group}`}
        total={`${percent(total.error_rate)} failed`}
        legend={[
          { name: 'answered', tone: 's1' },
          { name: 'failed', tone: 'bad' },
        ]}
        slots={slots.map(requestsOf)}
        tickText={tickText}
      />
      <TimeChart
        title={`Duration by ${group}`}
        total={total.p95_ms === null ? 'none was answered' : `95 % within ${lasted(total.p95_ms)}`}
        legend={[
          { name: 'median', tone: 's1' },
          { name: '95 % within', tone: 's1 pale' },
        ]}
        slots={slots.map(durationsOf)}
        tickText={durationTick}
      />
    </div>
  )
}
