import type { JSX } from 'preact'
import { BarChart, type BarPart, Swatch } from './chart-bars.tsx'
import { type DayLabel } from './chart-figures.ts'

/** Charts of counts and durations by hour or day; a table of the page has their figures too. */

/** An hour or a day of a chart. */
export interface TimeSlot {
  readonly key: string
  /** In words, such as `30 Nov 2026 14:00`. */
  readonly name: string
  readonly label: DayLabel | undefined
  readonly href: string
  readonly parts: readonly BarPart[]
  /** Figures that the chart shows under the mouse and at the focus of the keyboard. */
  readonly figures: readonly (readonly [name: string, value: string])[]
}

interface TimeChartOptions {
  readonly title: string
  /** Stands on the right of the title. */
  readonly total: string
  readonly legend: readonly { readonly name: string; readonly tone: string }[]
  readonly slots: readonly TimeSlot[]
  readonly tickText: (value: number, step: number) => string
}

/** A link for a mouse, and a choice for a keyboard, of which all hours are one stop. */
function Slot({
  slot: { name, href, figures },
  title,
  isLate,
}: {
  readonly slot: TimeSlot
  readonly title: string
  readonly isLate: boolean
}): JSX.Element {
  const words = figures.map(([figure, value]) => `${figure} ${value}`).join(', ')
  return (
    <li>
      <a href={href} tabIndex={-1} aria-label={`Failures of ${name}`}></a>
      <input type="radio" name={title} aria-label={`${name}: ${words || 'no requests'}`} />
      <div class={isLate ? 'tip late' : 'tip'} aria-hidden="true">
        <p>
          <strong>{name}</strong>
        </p>
        {figures.length === 0 ? <p>no requests</p> : null}
        {figures.map(([figure, value]) => (
          <p key={figure}>
            {figure} <span class="digits">{value}</span>
          </p>
        ))}
      </div>
    </li>
  )
}

/** A chart of hours or days with its legend. */
export function TimeChart(options: TimeChartOptions): JSX.Element {
  const { title, total, legend, slots, tickText } = options
  return (
    <figure class="panel">
      <figcaption>
        <h2>{title}</h2>
        <p class="total">{total}</p>
      </figcaption>
      <BarChart label={title} bars={slots} tickText={tickText}>
        {slots.map((slot, index) => (
          <Slot key={slot.key} slot={slot} title={title} isLate={index >= slots.length / 2} />
        ))}
      </BarChart>
      <ul class="legend" aria-label="Series">
        {legend.map(({ name, tone }) => (
          <li key={name}>
            <Swatch tone={tone} />
            {name}
          </li>
        ))}
      </ul>
    </figure>
  )
}
