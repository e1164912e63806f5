import type { ComponentChildren, JSX } from 'preact'
import { type DayLabel, ticksFor } from './chart-figures.ts'

/** Bars over time with the axis left of them, in units of the axis: each chart says what its bars stand for. */

/** Pixels; the width is that of the page. */
const HEIGHT = 190
const TOP = 8
const BOTTOM = 24
const GUTTER = 64
/** A part that is there is seen. */
const LEAST_HEIGHT = 0.75
/** Share of its place that a bar takes. */
const BAR_SHARE = 0.78

const percent = (share: number): string => `${(share * 100).toFixed(3)}%`

/** The class of the colour of a series by its place, from 0. */
export const toneOf = (place: number): string => `s${place + 1}`

/** The colour of a series. */
export function Swatch({ tone }: { readonly tone: string }): JSX.Element {
  return (
    <svg width="10" height="10" aria-hidden="true" focusable="false">
      <rect class={tone} width="10" height="10" rx="2" />
    </svg>
  )
}

/** A part of a bar, drawn over the parts before it. */
export interface BarPart {
  /** Class of its colour. */
  readonly tone: string
  readonly from: number
  readonly to: number
}

export interface Bar {
  readonly key: string
  /** Text below it. */
  readonly label: DayLabel | undefined
  readonly parts: readonly BarPart[]
}

interface BarChartOptions {
  /** Names the list of bars. */
  readonly label: string
  readonly bars: readonly Bar[]
  /** A value of the axis, whose values are a step apart. */
  readonly tickText: (value: number, step: number) => string
  /** An item of a list over each bar: where it leads, and its figures. */
  readonly children: ComponentChildren
}

/** Pixels from the top, of a value. */
type Scale = (value: number) => number

/** The values left of the bars: pixels, so that text keeps its size at any width. */
function Axis({
  ticks,
  y,
  tickText,
}: Pick<BarChartOptions, 'tickText'> & { readonly ticks: readonly number[]; readonly y: Scale }) {
  const step = (ticks[1] ?? 1) - (ticks[0] ?? 0)
  return (
    <svg class="amounts" width={GUTTER} height={HEIGHT} aria-hidden="true" focusable="false">
      {ticks.map((tick) => (
        <text key={tick} class="tick y" x={GUTTER - 8} y={y(tick) + 4}>
          {tickText(tick, step)}
        </text>
      ))}
    </svg>
  )
}

/** A bar with its label below; what it stands for is in the list above it. */
function DrawnBar({
  bar: { label, parts },
  left,
  width,
  y,
}: {
  readonly bar: Bar
  readonly left: number
  readonly width: number
  readonly y: Scale
}): JSX.Element {
  return (
    <g>
      {parts.map(({ tone, from, to }) => (
        <rect
          key={tone}
          class={tone}
          x={percent(left)}
          width={percent(width)}
          y={y(to)}
          height={Math.max(y(from) - y(to), LEAST_HEIGHT)}
        />
      ))}
      {label === undefined ? null : (
        <text
          class={label.isMinor ? 'tick x minor' : 'tick x'}
          x={percent(left + width / 2)}
          y={HEIGHT - 7}
        >
          {label.text}
        </text>
      )}
    </g>
  )
}

/** Bars drawn on the server: they need no script and no style. */
export function BarChart({ label, bars, tickText, children }: BarChartOptions): JSX.Element {
  const ticks = ticksFor(Math.max(0, ...bars.flatMap(({ parts }) => parts.map(({ to }) => to))))
  const top = ticks.at(-1) ?? 1
  const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP)
  const place = 1 / bars.length
  return (
    <div class="chart">
      <Axis ticks={ticks} y={y} tickText={tickText} />
      <svg class="plot" height={HEIGHT} aria-hidden="true" focusable="false">
        {ticks.map((tick) => (
          <line
            key={tick}
            class={tick === 0 ? 'base' : 'grid'}
            x1="0"
            x2="100%"
            y1={y(tick)}
            y2={y(tick)}
          />
        ))}
        {bars.map((bar, index) => (
          <DrawnBar
            key={bar.key}
            bar={bar}
            left={place * (index + (1 - BAR_SHARE) / 2)}
            width={place * BAR_SHARE}
            y={y}
          />
        ))}
      </svg>
      <ul class="days" aria-label={label}>
        {children}
      </ul>
    </div>
  )
}
