import type { JSX } from 'preact'
import { formatAmount } from '../../kernel/money.ts'
import { Swatch, toneOf } from './chart-bars.tsx'
import type { ChartOptions, Shaped } from './chart-figures.ts'
import { grouped } from './values.tsx'

/** The days of a chart, over their bars: what is shown of each under the mouse and for the keyboard. */

interface DayProps {
  readonly day: string
  readonly isLate: boolean
  readonly options: Pick<ChartOptions, 'title' | 'currency' | 'hrefOf'>
  readonly data: Shaped
}

/**
 * A day over its bar: a link to its lines for a mouse, and a choice for a keyboard, of which all days are one stop.
 * Its figures are shown while it is under the mouse or has the focus.
 */
export function Day({ day, isLate, options, data }: DayProps): JSX.Element {
  const { title, currency, hrefOf } = options
  const amountOf = (pico: bigint): string => grouped(formatAmount(pico))
  const parts = data.series.flatMap((name, place) => {
    const pico = data.picoOf(day, name)
    return pico === 0n ? [] : [{ name, place, amount: amountOf(pico) }]
  })
  const total = `${amountOf(data.totalOf(day))} ${currency}`
  const words = [`${day}: ${total}`, ...parts.map(({ name, amount }) => `${name} ${amount}`)]
  return (
    <li>
      <a href={hrefOf(day)} tabIndex={-1} aria-label={`Lines of ${day}`}></a>
      <input type="radio" name={`${title}, ${currency}`} aria-label={words.join(', ')} />
      <div class={isLate ? 'tip late' : 'tip'} aria-hidden="true">
        <p>
          {day} <strong>{total}</strong>
        </p>
        {parts.map(({ name, place, amount }) => (
          <p key={name}>
            <Swatch tone={toneOf(place)} /> {name} <span class="digits">{amount}</span>
          </p>
        ))}
      </div>
    </li>
  )
}
