/**
 * Every switch the sandbox knows, with the kind of value it takes. One vocabulary serves the marker
 * in a prompt and the process-wide rules; each family reads the switches it can act on.
 */
const SWITCHES = {
  // The outcome of an accepted task.
  fail: 'word',
  stall: 'flag',
  'stall-queued': 'flag',
  expire: 'flag',
  gone: 'flag',
  'gone-ms': 'count',
  'queued-ms': 'count',
  'running-ms': 'count',
  status: 'word',
  tokens: 'count',
  'usage-missing': 'flag',
  'usage-changes': 'flag',
  'total-missing': 'flag',
  'tool-searches': 'count',
  'reference-seconds': 'count',
  'task-type': 'word',
  // Faults of lists.
  'page-cap': 'count',
  'empty-list': 'flag',
  unmarked: 'flag',
  // What its callbacks do.
  'callback-duplicate': 'flag',
  'callback-reorder': 'flag',
  'callback-storm': 'count',
  // What a synchronous answer holds.
  words: 'count',
  tool: 'word',
  thoughts: 'flag',
  blocked: 'flag',
  incomplete: 'flag',
  'usage-in-failed': 'flag',
  'fail-choice': 'word',
  'choices-failed': 'count',
  'no-usage': 'flag',
  'zero-usage': 'flag',
  'chunk-usage': 'flag',
  'reasoning-tokens': 'count',
  'cached-tokens': 'count',
  'cache-write-5m': 'count',
  'cache-write-1h': 'count',
  'cache-unsplit': 'flag',
  figures: 'word',
  compaction: 'flag',
  served: 'word',
  'no-stop': 'flag',
  'unknown-events': 'flag',
  'huge-frame': 'count',
  // Faults of the pictures in an answer.
  black: 'flag',
  'no-image': 'word',
  'some-fail': 'count',
  quality: 'word',
  'one-black': 'flag',
  'group-size': 'count',
  'group-stop': 'count',
  layers: 'count',
  'other-size': 'flag',
  'created-at': 'flag',
  // Faults of a cloned voice.
  'input-sensitive': 'count',
  'sensitive-flag': 'flag',
  'forget-voice': 'flag',
  // How a stream of it flows.
  'frame-ms': 'count',
  'first-frame-ms': 'count',
  'keep-alive': 'flag',
  'split-bytes': 'flag',
  crlf: 'flag',
  lf: 'flag',
  'no-done': 'flag',
  'done-only': 'flag',
  'cut-after': 'count',
  'cut-before-usage': 'flag',
  'end-after': 'count',
  'error-after': 'count',
  'bare-error': 'flag',
  'wrap-error': 'flag',
  'stall-after': 'count',
  // Faults of the headers of an answer or a refusal.
  'retry-after': 'count',
  remaining: 'count',
  'reset-ms': 'count',
  // How an envelope reports errors, and the status of a success.
  'envelope-200': 'flag',
  'success-status': 'count',
  // These run on one exchange before its request is acted on.
  refuse: 'word',
  http: 'count',
  down: 'flag',
  'drop-before-accept': 'flag',
  'refuse-connections': 'flag',
  hang: 'flag',
  // These run on one exchange after its request was acted on.
  'first-byte-ms': 'count',
  'drop-after-accept': 'flag',
  'hang-after-accept': 'flag',
  'http-after-accept': 'count',
  'answer-id': 'word',
  malformed: 'flag',
  truncated: 'flag',
  garbage: 'flag',
  'bad-http': 'flag',
} as const satisfies Record<string, 'flag' | 'word' | 'count'>

type Kinds = typeof SWITCHES
/** The name of a switch. */
type SwitchName = keyof Kinds
type NamesOf<K> = { [N in SwitchName]: Kinds[N] extends K ? N : never }[SwitchName]

/** The switches that are on, by name, with their text value ('' for a flag). */
export type Faults = ReadonlyMap<SwitchName, string>

export const NO_FAULTS: Faults = new Map()

/**
 * A switch that does not exist or a value that does not fit: an error, so that no test runs without
 * its fault.
 */
export class UnknownSwitch extends Error {
  readonly code = 'unknown_switch'
}

const MAX_COUNT = 1_000_000_000_000

function isSwitchName(name: string): name is SwitchName {
  return Object.hasOwn(SWITCHES, name)
}

/** Reads words such as `fail=CODE` and `stall`. @throws UnknownSwitch */
export function parseSwitches(words: readonly string[]): Faults {
  const faults = new Map<SwitchName, string>()
  for (const word of words) {
    const equals = word.indexOf('=')
    const name = equals < 0 ? word : word.slice(0, equals)
    const value = equals < 0 ? '' : word.slice(equals + 1)
    if (!isSwitchName(name)) throw new UnknownSwitch(`no sandbox switch is called ${name}`)
    const kind = SWITCHES[name]
    if (kind === 'flag' ? value !== '' : value === '') {
      throw new UnknownSwitch(
        `sandbox switch ${name} ${kind === 'flag' ? 'takes no' : 'needs a'} value`,
      )
    }
    if (kind === 'count' && (!/^\d{1,13}$/.test(value) || Number(value) > MAX_COUNT)) {
      throw new UnknownSwitch(`sandbox switch ${name} needs a whole number`)
    }
    faults.set(name, value)
  }
  return faults
}

/** Both sets; where both name a switch, the second one's value. */
export function mergeFaults(base: Faults, over: Faults): Faults {
  if (base.size === 0) return over
  if (over.size === 0) return base
  return new Map([...base, ...over])
}

/** Whether a flag is on. */
export function isOn(faults: Faults, name: NamesOf<'flag'>): boolean {
  return faults.has(name)
}

/** The number of a switch, or null when it is off. */
export function countOf(faults: Faults, name: NamesOf<'count'>): number | null {
  const value = faults.get(name)
  return value === undefined ? null : Number(value)
}

/** The word of a switch, or null when it is off. */
export function wordOf(faults: Faults, name: NamesOf<'word'>): string | null {
  return faults.get(name) ?? null
}

/** Instructions to the sandbox that a prompt carries besides its text for a model. */
export interface PromptMarkers {
  readonly faults: Faults
  /** Text of `[[client=XYZ]]`, at most 200 characters: a test's own name for the request. */
  readonly clientMarker: string | null
}

const MAX_MARKERS = 20

/** The markers of a prompt without instructions. */
export const NO_MARKERS: PromptMarkers = { faults: NO_FAULTS, clientMarker: null }

/**
 * Finds `[[sandbox a b=c]]` and `[[client=XYZ]]` in a prompt; several markers add up.
 * @throws UnknownSwitch
 */
export function parseMarkers(text: string): PromptMarkers {
  if (!text.includes('[[')) return NO_MARKERS
  const words: string[] = []
  let found = 0
  for (const match of text.matchAll(/\[\[sandbox\s([^[\]]{0,2000})\]\]/g)) {
    found += 1
    if (found > MAX_MARKERS) break
    words.push(...(match[1] ?? '').split(/\s+/).filter((word) => word !== ''))
  }
  const client = /\[\[client=([^[\]]{1,200})\]\]/.exec(text)
  return { faults: parseSwitches(words), clientMarker: client?.[1] ?? null }
}
