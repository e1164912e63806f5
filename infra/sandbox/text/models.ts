import { knownTo, type SandboxOptions } from '../options.ts'

/** A text model this upstream offers. */
export interface TextModel {
  /** As it is asked for. */
  readonly name: string
  /** As answers name it. */
  readonly version: string
  /** Reads and writes a prompt cache. */
  readonly caches: boolean
  /** Thinks before it answers. */
  readonly reasons: boolean
  /** Looks at files given by URL. */
  readonly files: boolean
  /** Searches the web before each answer, on the chat wire. */
  readonly searches: boolean
}

const OFFERED = ['text-basic', 'text-cache', 'text-reason', 'text-tools', 'gen-3-pro-preview-file']
const VERSION = '2026-01-15'
const MAX_NAME_LENGTH = 200

/** What a model can do follows from the words of its name. */
function model(name: string): TextModel {
  return {
    name,
    version: `${name}-${VERSION}`,
    caches: name.includes('-cache'),
    reasons: name.includes('-reason') || name.startsWith('gen-3-'),
    files: name.endsWith('-file'),
    searches: name.includes('-search'),
  }
}

/** Everything on offer without further options. */
export const offeredModels: readonly TextModel[] = OFFERED.map(model)
const BY_NAME = new Map(
  offeredModels.flatMap((one) => [one.name, one.version].map((n) => [n, one])),
)

/** A model by its name, with or without its version; null when it is not offered. */
export function findModel(name: string, options: SandboxOptions): TextModel | null {
  const known = BY_NAME.get(name)
  if (known !== undefined) return known
  if (name.length > MAX_NAME_LENGTH) return null
  return knownTo(options, name) ? model(name) : null
}
