import { QUANTIFIER, TOKEN } from './pattern-tokens.ts'

/** Strings made from the parts of a regular expression, to find what makes its search slow. */

export interface Pump {
  readonly start: string
  readonly repeated: string
  readonly end: string
}

/** One character of a pattern, or a class of them, with how often it must occur. */
interface Atom {
  readonly source: string
  readonly least: number
}

const CANDIDATES = [
  ...Array.from({ length: 0x7f }, (_, code) => String.fromCharCode(code)),
  'é',
  '\u0085',
  '中',
  '\ud800',
  '\ud83d\ude00',
  '\u2028',
]

/** The most ways through a pattern that are tried. */
const MAX_PATHS = 16

/** Reads the alternatives of a pattern, each as the ways through it. */
class Reader {
  readonly #source: string
  #at = 0

  constructor(source: string) {
    this.#source = source
  }

  #next(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#source)
    if (match !== null) this.#at = pattern.lastIndex
    return match
  }

  /** The least repetition that follows; once for what may be absent. */
  #least(): number {
    const match = this.#next(QUANTIFIER)
    return Math.max(1, Number(match?.[1] ?? 1))
  }

  /** Up to the parenthesis that closes the group, or the end. */
  paths(): readonly (readonly Atom[])[] {
    const done: (readonly Atom[])[] = []
    let open: (readonly Atom[])[] = [[]]
    const add = (ways: readonly (readonly Atom[])[]): void => {
      open = open.flatMap((path) => ways.map((way) => [...path, ...way])).slice(0, MAX_PATHS)
    }
    for (;;) {
      const token = this.#next(TOKEN)?.[0]
      if (token === undefined || token === ')') return [...done, ...open]
      if (token === '|') {
        done.push(...open)
        open = [[]]
      } else if (token.startsWith('(')) {
        const ways = this.paths()
        const least = this.#least()
        if (!token.endsWith('!') && !token.startsWith('(?<='))
          add(ways.map((way) => Array.from({ length: least }, () => way).flat()))
      } else if (!['^', '$', '\\b', '\\B'].includes(token))
        add([[{ source: token, least: this.#least() }]])
    }
  }
}

/** Characters that an atom takes: the one that most atoms take, and the first. */
function samplesOf(atoms: readonly Atom[], flags: string): ReadonlyMap<string, readonly string[]> {
  const sources = [...new Set(atoms.map(({ source }) => source))]
  const taken = sources.map((source) => {
    const one = new RegExp(`^(?:${source})$`, flags.replaceAll(/[gy]/g, ''))
    return CANDIDATES.filter((character) => one.test(character))
  })
  const howMany = (character: string): number =>
    taken.filter((characters) => characters.includes(character)).length
  return new Map(
    sources.map((source, at) => {
      const characters = taken[at] ?? []
      const shared = characters.toSorted((a, b) => howMany(b) - howMany(a)).slice(0, 1)
      return [source, [...new Set([...shared, ...characters.slice(0, 1)])]]
    }),
  )
}

/** What is repeated: single atoms behind what leads to them, and each run of neighbouring atoms. */
export function pumpsOf(source: string, flags: string): readonly Pump[] {
  const paths = new Reader(source).paths()
  const samples = samplesOf(paths.flat(), flags)
  const strange = CANDIDATES.filter(
    (one) => ![...samples.values()].some((characters) => characters.includes(one)),
  )
  const textOf = (path: readonly Atom[]): string =>
    path.map(({ source: one, least }) => (samples.get(one)?.[0] ?? '').repeat(least)).join('')
  const repeated = paths.flatMap((path) =>
    path.flatMap((atom, at) => {
      const lead = textOf(path.slice(0, at))
      const singles = (samples.get(atom.source) ?? []).flatMap((one) => [one, lead + one])
      const runs = [2, 3].map((length) => textOf(path.slice(at, at + length)))
      return [
        ...singles.map((one) => ({ start: lead, repeated: one })),
        ...[lead, ...runs].map((one) => ({ start: '', repeated: one })),
      ]
    }),
  )
  const ends = ['', strange[0] ?? '']
  const all = repeated.flatMap((pump) => ends.map((end) => ({ ...pump, end })))
  const keyed = new Map(
    all
      .filter((pump) => pump.repeated !== '')
      .map((pump) => [`${pump.start}\n${pump.repeated}\n${pump.end}`, pump] as const),
  )
  return [...keyed.values()]
}
