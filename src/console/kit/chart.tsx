import type { JSX } from 'preact'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import { BarChart, type BarPart, Swatch, toneOf } from './chart-bars.tsx'
import { type ChartOptions, dayLabel, type Shaped, shaped, tickText } from './chart-figures.ts'
import { Day } from './chart-days.tsx'
import { Digits, grouped, mostDecimals } from './values.tsx'

/** Bars by day, each made of series, drawn on the server: they need no script and no style, and a table has their figures. */

const units = (pico: bigint): number => Number(pico) / 1e12

/** The parts of the bar of a day from the bottom up. */
function partsOf(day: string, { series, picoOf }: Shaped): readonly BarPart[] {
  let base = 0n
  return series.flatMap((name, place) => {
    const pico = picoOf(day, name)
    if (pico <= 0n) return []
    const from = units(base)
    base += pico
    return [{ tone: toneOf(place), from, to: units(base) }]
  })
}

function Bars({
  options,
  data,
}: {
  readonly options: ChartOptions
  readonly data: Shaped
}): JSX.Element {
  const { days, title, currency } = options
  const bars = days.map((day, index) => ({
    key: day,
    label: dayLabel(days, index),
    parts: partsOf(day, data),
  }))
  return (
    <BarChart label={`${title}, ${currency}, by day`} bars={bars} tickText={tickText}>
      {days.map((day, index) => (
        <Day key={day} day={day} isLate={index >= days.length / 2} options={options} data={data} />
      ))}
    </BarChart>
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
                <Swatch tone={toneOf(place)} />
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
