import type { JSX } from 'preact'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import {
  type ChartOptions,
  type DayLabel,
  dayLabel,
  type Shaped,
  shaped,
  tickText,
  ticksFor,
} from './chart-figures.ts'
import { Day, Swatch } from './chart-days.tsx'
import { Digits, grouped, mostDecimals } from './values.tsx'

/** Bars by day, each made of series, drawn on the server: they need no script and no style, and a table has their figures. */

/** Pixels; the width is that of the page. */
const HEIGHT = 190
const TOP = 8
const BOTTOM = 24
const GUTTER = 64
/** A part that is there is seen. */
const LEAST_HEIGHT = 0.75

const units = (pico: bigint): number => Number(pico) / 1e12
const percent = (share: number): string => `${(share * 100).toFixed(3)}%`

/** Share of a day's place that its bar takes. */
const BAR_SHARE = 0.78
interface Drawn {
  readonly data: Shaped
  /** Pixels from the top, of an amount. */
  readonly y: (amount: number) => number
  readonly ticks: readonly number[]
}

/** The amounts left of the bars: pixels, so that text keeps its size at any width. */
function AmountAxis({ y, ticks }: Drawn): JSX.Element {
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

interface DayBarProps {
  readonly day: string
  readonly label: DayLabel | undefined
  readonly left: number
  readonly width: number
  readonly options: ChartOptions
  readonly drawn: Drawn
}

/** The parts of one bar from the bottom up. */
function Parts({ day, left, width, drawn: { data, y } }: DayBarProps): JSX.Element {
  let base = 0n
  return (
    <>
      {data.series.map((name, place) => {
        const pico = data.picoOf(day, name)
        if (pico <= 0n) return null
        const from = y(units(base))
        base += pico
        const to = y(units(base))
        return (
          <rect
            key={name}
            class={`s${place + 1}`}
            x={percent(left)}
            width={percent(width)}
            y={to}
            height={Math.max(from - to, LEAST_HEIGHT)}
          />
        )
      })}
    </>
  )
}

/** The bar of a day, with its label below; what it stands for is in the list above it. */
function DayBar(props: DayBarProps): JSX.Element {
  const { label, left, width } = props
  return (
    <g>
      <Parts {...props} />
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

function Bars({
  options,
  data,
}: {
  readonly options: ChartOptions
  readonly data: Shaped
}): JSX.Element {
  const { days, title } = options
  const ticks = ticksFor(Math.max(...days.map((day) => units(data.totalOf(day)))))
  const top = ticks.at(-1) ?? 1
  const drawn = {
    data,
    ticks,
    y: (amount: number) => HEIGHT - BOTTOM - (amount / top) * (HEIGHT - BOTTOM - TOP),
  }
  const place = 1 / days.length
  return (
    <div class="chart">
      <AmountAxis {...drawn} />
      <svg class="plot" height={HEIGHT} aria-hidden="true" focusable="false">
        {drawn.ticks.map((tick) => (
          <line
            key={tick}
            class={tick === 0 ? 'base' : 'grid'}
            x1="0"
            x2="100%"
            y1={drawn.y(tick)}
            y2={drawn.y(tick)}
          />
        ))}
        {days.map((day, index) => (
          <DayBar
            key={day}
            day={day}
            label={dayLabel(days, index)}
            left={place * (index + (1 - BAR_SHARE) / 2)}
            width={place * BAR_SHARE}
            options={options}
            drawn={drawn}
          />
        ))}
      </svg>
      <ul class="days" aria-label={`${title}, ${options.currency}, by day`}>
        {days.map((day, index) => (
          <Day
            key={day}
            day={day}
            isLate={index >= days.length / 2}
            options={options}
            data={data}
          />
        ))}
      </ul>
    </div>
  )
}

function FigureRows({
  options: { days, hrefOf },
  data: { series, picoOf, totalOf },
}: {
  readonly options: ChartOptions
  readonly data: Shaped
}): JSX.Element {
  const columns = [...series.map((name) => (day: string) => picoOf(day, name)), totalOf].map(
    (amountIn) => ({
      amountIn,
      decimals: mostDecimals(days.map((day) => formatAmount(amountIn(day)))),
    }),
  )
  return (
    <tbody>
      {days
        .filter((day) => totalOf(day) !== 0n)
        .map((day) => (
          <tr key={day}>
            <th scope="row">
              <a href={hrefOf(day)}>{day}</a>
            </th>
            {columns.map(({ amountIn, decimals }, place) => (
              <td key={series[place] ?? ''} class="right">
                <Digits amount={formatAmount(amountIn(day))} decimals={decimals} />
              </td>
            ))}
          </tr>
        ))}
    </tbody>
  )
}

function Figures({
  options,
  data,
}: {
  readonly options: ChartOptions
  readonly data: Shaped
}): JSX.Element {
  const { title, currency } = options
  return (
    <details class="figures">
      <summary>Figures</summary>
      <div class="scroll" tabIndex={0} role="group" aria-label={`${title}, ${currency}: figures`}>
        <table>
          <thead>
            <tr>
              <th scope="col">Day</th>
              {data.series.map((name) => (
                <th key={name} scope="col" class="right">
                  {name}
                </th>
              ))}
              <th scope="col" class="right">
                All, {currency}
              </th>
            </tr>
          </thead>
          <FigureRows options={options} data={data} />
        </table>
      </div>
    </details>
  )
}

/** A chart of one currency with its legend and its figures. */
export function DayChart(options: ChartOptions): JSX.Element {
  const data = shaped(options.cells)
  const total = options.cells.reduce((sum, { amount }) => sum + parseAmount(amount), 0n)
  return (
    <figure class="panel" data-from={options.from}>
      <figcaption>
        <h2>{options.title}</h2>
        <p class="total">
          {grouped(formatAmount(total))} <span class="currency">{options.currency}</span>
        </p>
      </figcaption>
      {options.cells.length === 0 ? (
        <p class="empty">Nothing was settled in this time.</p>
      ) : (
        <>
          <Bars options={options} data={data} />
          <ul class="legend" aria-label="Series">
            {data.series.map((name, place) => (
              <li key={name}>
                <Swatch place={place} />
                {name}
              </li>
            ))}
          </ul>
          <Figures options={options} data={data} />
        </>
      )}
    </figure>
  )
}
