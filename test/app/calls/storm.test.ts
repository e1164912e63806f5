import t from 'tap'
import { until } from '../../helpers/eventually.ts'
import type { CallView } from '../../../infra/sandbox/calls/store.ts'
import { isDomainError } from '../../../src/kernel/errors.ts'
import { startTextWorld, textInput, unitsOf } from './support/text-world.ts'

/** Reproducible chance (mulberry32), uniform in 0 ≤ x < 1. */
function chanceOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const SEED = 20_260_115
const CALLS = 240
const FAMILIES = ['chat', 'responses', 'native'] as const
const FAULTS = [
  '',
  '',
  '',
  'split-bytes',
  'cut-after=9',
  'error-after=9',
  'no-usage',
  'stall-after=12',
]

const world = await startTextWorld(t)

t.test(
  'many streams, hang-ups, faults and a shutdown: every call is settled or failed once',
  async (t) => {
    const chance = chanceOf(SEED)
    const { calls, journal } = await world.text()
    const delivered = new Map<string, boolean>()
    const markers = new Map<string, string>()
    /** Whether upstream breaks it off, or stalls until the shutdown does. */
    const broken = new Map<string, boolean>()
    let stalls = 0

    const one = async (index: number): Promise<void> => {
      const family = FAMILIES[index % FAMILIES.length] ?? 'chat'
      const fault = FAULTS[Math.floor(chance() * FAULTS.length)] ?? ''
      const hangUpAt = chance() < 0.5 ? Math.floor(chance() * 25) : Infinity
      const gone = new AbortController()
      const marker = `storm-${index}`
      broken.set(marker, /cut|error|stall/.test(fault))
      if (fault.includes('stall')) stalls += 1
      const prompt = `[[sandbox words=20 frame-ms=2 ${fault}]] [[client=${marker}]]`
      const sent = (callId: string): void => {
        markers.set(callId, marker)
        delivered.set(callId, false)
      }
      const input = textInput({ family, prompt, callerGone: gone.signal })
      const begun = await calls.stream(input).catch((error: unknown) => {
        // A provider that is too busy to begin has failed.
        if (!isDomainError(error) || typeof error.details['callId'] !== 'string') throw error
        sent(error.details['callId'])
        broken.set(marker, true)
        return undefined
      })
      if (begun === undefined) return
      const { callId, frames } = begun
      sent(callId)
      let taken = 0
      try {
        for await (const _frame of frames) {
          taken += 1
          if (taken > hangUpAt) {
            gone.abort()
            return
          }
        }
        delivered.set(callId, !gone.signal.aborted)
      } catch (error) {
        if (!isDomainError(error)) throw error
      }
    }
    const running = Promise.all(Array.from({ length: CALLS }, (_, index) => one(index)))
    await until(() => markers.size === CALLS)
    await until(() => calls.inFlight() <= stalls)
    t.equal(await calls.close(2_500), true, 'the stalled ones are cancelled at the deadline')
    await running
    t.equal(await journal.flush(30_000), true)

    const events = await world.callEvents()
    const byCall = groupByCall(events)
    t.same(new Set(byCall.keys()), new Set(markers.keys()), 'nothing more and nothing less')
    const accepted = new Map<string, CallView>()
    for (const marker of markers.values())
      for (const view of await world.accepted(marker)) accepted.set(marker, view)
    const faults: string[] = []
    for (const [callId, marker] of markers) {
      const [event, ...more] = byCall.get(callId) ?? []
      const view = accepted.get(marker)
      if (event === undefined || view === undefined || more.length > 0)
        faults.push(`${marker}: not once`)
      else if (event.type === 'CallFailed') {
        if (delivered.get(callId) === true || !(broken.get(marker) ?? false))
          faults.push(`${marker}: free`)
      } else {
        const lines = event.data.settlement.lines
        const isReported = lines.every((line) => line.measurement === 'reported')
        const exact = JSON.stringify(unitsOf(view)) === JSON.stringify(event.data.usage)
        if (isReported && !exact) faults.push(`${marker}: not what upstream reported`)
        if (delivered.get(callId) === true && event.data.outcome !== 'completed')
          faults.push(`${marker}: delivered but ${event.data.outcome}`)
      }
    }
    t.same(faults, [])
  },
)

function groupByCall<E extends { readonly data: { readonly callId: string } }>(
  events: readonly E[],
): ReadonlyMap<string, readonly E[]> {
  const groups = new Map<string, E[]>()
  for (const event of events)
    groups.set(event.data.callId, [...(groups.get(event.data.callId) ?? []), event])
  return groups
}
