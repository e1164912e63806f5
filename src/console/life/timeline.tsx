import type { JSX } from 'preact'
import { fromTimestamp } from '../../kernel/clock.ts'
import { formatDuration, formatElapsed } from '../../kernel/duration.ts'
import { grouped, Moment, type ZoneClock } from '../kit/values.tsx'
import { type Fold, type TimeScale, timeScale } from './scale.ts'
import type { readLife } from '../../api/query/lives/route.ts'

/** The steps of a life as a list that is a picture at the same time. */

export type ShownLife = Awaited<ReturnType<typeof readLife>>
export type ShownStep = ShownLife['steps'][number]

/** States that last until the next step; any other is a moment. */
const lasting: ReadonlySet<string> = new Set(['waiting', 'running', 'uncertain'])

/** Height of a row of the picture, and of its bar, in pixels. */
const LANE = 22
const BAR = 10

const percent = (share: number): string => `${(share * 100).toFixed(3)}%`

interface Bar {
  readonly from: number
  readonly to: number
  readonly isOpen: boolean
}

/** The time at which a step began, Unix milliseconds. */
export const startOf = (step: ShownStep): number => fromTimestamp(step.started_at ?? step.at)

function barOf(step: ShownStep, next: ShownStep | undefined, scale: TimeScale, nowMs: number): Bar {
  const endMs = fromTimestamp(step.at)
  const from = scale.at(startOf(step))
  if (step.started_at !== null) return { from, to: scale.at(endMs), isOpen: false }
  if (!lasting.has(step.state)) return { from, to: from, isOpen: false }
  return {
    from,
    to: scale.at(next === undefined ? nowMs : fromTimestamp(next.at)),
    isOpen: next === undefined,
  }
}

/** One lane: the folds behind, then the bar, or a mark for a moment. */
function Lane({
  step,
  bar,
  scale,
}: {
  readonly step: ShownStep
  readonly bar: Bar
  readonly scale: TimeScale
}) {
  const top = (LANE - BAR) / 2
  const isMoment = bar.to - bar.from < 0.004
  return (
    <svg class="lane" height={LANE} aria-hidden="true" focusable="false">
      {scale.folds.map(({ from, to }) => (
        <rect
          key={from}
          class="fold"
          x={percent(from)}
          width={percent(to - from)}
          y="0"
          height={LANE}
        />
      ))}
      {isMoment ? (
        <rect
          class={`mark ${step.state}`}
          x={percent(bar.from)}
          transform={bar.from > 0.98 ? 'translate(-6 0)' : undefined}
          width="6"
          y={top - 2}
          height={BAR + 4}
          rx="2"
        />
      ) : (
        <rect
          class={`bar ${step.state}${bar.isOpen ? ' open' : ''}`}
          x={percent(bar.from)}
          width={percent(bar.to - bar.from)}
          y={top}
          height={BAR}
          rx="3"
        />
      )}
    </svg>
  )
}

/** The side on which a label is set: it stays within the picture and out of the fold behind it. */
function anchorOf(at: number, folds: readonly Fold[]): 'first' | 'last' | '' {
  if (at < 0.02) return 'first'
  return at > 0.94 || folds.some(({ from }) => from === at) ? 'last' : ''
}

function Axis({ scale }: { readonly scale: TimeScale }): JSX.Element {
  return (
    <svg class="axis" height="34" aria-hidden="true" focusable="false">
      {scale.folds.map(({ from, to, lengthMs }) => (
        <g key={from}>
          <rect class="fold" x={percent(from)} width={percent(to - from)} y="18" height="16" />
          <text
            class={`fold-label ${to > 0.94 ? 'last' : ''}`}
            x={percent(to > 0.94 ? to : (from + to) / 2)}
            y="12"
          >
            ⋯ {formatDuration(lengthMs)} ⋯
          </text>
        </g>
      ))}
      {scale.ticks.map(({ at, elapsedMs }) => (
        <text key={at} class={`tick ${anchorOf(at, scale.folds)}`} x={percent(at)} y="30">
          {elapsedMs === 0 ? '0' : formatDuration(elapsedMs)}
        </text>
      ))}
    </svg>
  )
}

/** Words of moves that the glossary has another one for. */
const moveWords: Readonly<Record<string, string>> = { 'given back': 'refunded', freed: 'released' }

/** Sums that are shown after a step that moved money. */
const afterNames = [
  ['held', 'is held'],
  ['net', 'to pay'],
] as const

const byNames = {
  caller: 'caller',
  gateway: 'gateway',
  provider: 'provider',
  operator: 'operator',
} as const

function Row({
  step,
  next,
  context,
}: {
  readonly step: ShownStep
  readonly next: ShownStep | undefined
  readonly context: PictureContext
}): JSX.Element {
  const { scale, clock, currency, nowMs, shownDay } = context
  const isOtherDay = shownDay !== clock.day(fromTimestamp(step.at))
  const isLater = context.atStep !== undefined && step.n > context.atStep
  return (
    <li class={`step ${step.state}${isLater ? ' later' : ''}`} id={`step-${step.n}`}>
      <p class="when">
        <Moment atMs={fromTimestamp(step.at)} clock={clock} short={!isOtherDay} />
        {step.n === 1 ? null : <span class="wait">{formatElapsed(step.wait_ms)}</span>}
      </p>
      <div class="picture">
        <Lane step={step} bar={barOf(step, next, scale, nowMs)} scale={scale} />
        <p class="what">
          <strong>{step.title}</strong> <span class="by">{byNames[step.by]}</span>
          {isLater ? <span class="by">not yet</span> : null}
          {step.detail === '' ? null : <span class="detail">{step.detail}</span>}
          {step.formulas.map((formula) => (
            <span key={formula} class="formula">
              {formula}
            </span>
          ))}
        </p>
      </div>
      <ul class="moves" aria-label="Money">
        {step.money.map(({ word, amount }) => (
          <li key={word} class={`move ${word.replace(' ', '-')}`}>
            <span class="word">{moveWords[word] ?? word}</span>
            <span class="money">{grouped(amount)}</span>
            <span class="currency">{currency}</span>
          </li>
        ))}
      </ul>
      <p class="after">
        {step.money.length === 0
          ? null
          : afterNames.map(([name, word]) =>
              step.after[name] === '0' ? null : (
                <span key={name}>
                  <span class="word">{word}</span>{' '}
                  <span class="money">{grouped(step.after[name])}</span>
                </span>
              ),
            )}
      </p>
    </li>
  )
}

interface PictureContext {
  readonly scale: TimeScale
  readonly clock: ZoneClock
  readonly currency: string
  readonly nowMs: number
  readonly shownDay: string
  /** Steps after this one are shown as not there yet. */
  readonly atStep: number | undefined
}

/** A life that has not ended: until when the gateway asks. */
export interface Ahead {
  readonly deadlineMs: number
  readonly lastAskedMs: number | undefined
}

/** The picture of a life; every row can be read without it. */
export function Timeline({
  steps,
  clock,
  currency,
  nowMs,
  atStep,
  ahead,
}: Pick<PictureContext, 'clock' | 'currency' | 'nowMs' | 'atStep'> & {
  readonly steps: readonly ShownStep[]
  readonly ahead: Ahead | undefined
}): JSX.Element {
  const [first] = steps
  const moments = steps.flatMap((step) => [startOf(step), fromTimestamp(step.at)])
  const scale = timeScale(ahead === undefined ? moments : [...moments, nowMs])
  const shownDay = clock.day(first === undefined ? nowMs : startOf(first))
  const context = { scale, clock, currency, nowMs, shownDay, atStep }
  return (
    <div class="life">
      <div class="heading" aria-hidden="true">
        <span>{shownDay}</span>
        <Axis scale={scale} />
        <span class="right">money</span>
        <span class="right">afterwards</span>
      </div>
      <ol>
        {steps.map((step, index) => (
          <Row key={step.n} step={step} next={steps[index + 1]} context={context} />
        ))}
        {ahead === undefined ? null : (
          <li class="step ahead">
            <p class="when">
              <Moment atMs={ahead.deadlineMs} clock={clock} />
              <span class="wait">in {formatDuration(Math.max(0, ahead.deadlineMs - nowMs))}</span>
            </p>
            <p class="what">
              <strong>deadline</strong> <span class="by">gateway</span>
              <span class="detail">
                the gateway asks the provider until then; then the task expires and its hold is
                released
                {ahead.lastAskedMs === undefined
                  ? ''
                  : `; last asked ${formatDuration(Math.max(0, nowMs - ahead.lastAskedMs))} ago`}
              </span>
            </p>
          </li>
        )}
      </ol>
    </div>
  )
}
