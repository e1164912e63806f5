import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { nearestAmong, nearestName, plainLetters } from './kernel/nearest-name.ts'
import { type Environment, listOf } from './kernel/variables.ts'
import { variables } from './variables.ts'

/** Checks the names of variables: without a check a misspelled one would be ignored in silence. */

/** The file of an operator's settings, in the folder that the program is started in. */
export const ENVIRONMENT_FILE = '.env'

/** The environment has names of other programs: shorter ones of ours could be near to them by chance. */
const MIN_LETTERS = 6
/** Variables of the runtime and of Postgres's client, which the program does not read itself. */
const OF_LIBRARIES = /^(?:NODE_|PG|UV_|TZ$)/

const known: readonly string[] = listOf(variables).map(({ name }) => name)
const nearestLong = nearestAmong(known.filter((name) => plainLetters(name).length >= MIN_LETTERS))

/** The names that the file gives values to; none where it cannot be read, which its loading reports. */
export function namesInFile(path: string): readonly string[] {
  try {
    return Object.keys(parseEnv(readFileSync(path, 'utf8')))
  } catch {
    return []
  }
}

interface Names {
  readonly env: Environment
  /** Names in the file of settings, whose values the environment has as well. */
  readonly inFile: readonly string[]
  /** Names that the operator lets through. */
  readonly allowed: readonly string[]
  readonly channelsFile: string | undefined
}

/** A fault for each unknown name in the file, and for each name of the environment that is nearly one of ours. */
export function nameFaults({ env, inFile, allowed, channelsFile }: Names): readonly string[] {
  const isUnknown = (name: string): boolean => !known.includes(name) && !allowed.includes(name)
  const ofFile = new Set(
    inFile.toSorted().filter((name) => isUnknown(name) && !OF_LIBRARIES.test(name)),
  )
  const suspects = Object.keys(env).flatMap((name) => {
    if (ofFile.has(name) || !isUnknown(name)) return []
    const near = nearestLong(name)
    return near === undefined || hasWordMore(name, near) ? [] : [[name, near] as const]
  })
  if (ofFile.size + suspects.length === 0) return []
  const credentials = credentialNames(channelsFile)
  const isCredential = (name: string): boolean => credentials.has(name)
  return [
    ...[...ofFile]
      .filter((name) => !isCredential(name))
      .map((name) => faultOf(`${name} in ${ENVIRONMENT_FILE}`, nearestName(name, known))),
    ...suspects.filter(([name]) => !isCredential(name)).map(([name, near]) => faultOf(name, near)),
  ]
}

/** Whether a name is one of ours and another word, as `IS_SANDBOX`: no typo makes a word. */
function hasWordMore(name: string, ours: string): boolean {
  const words = name.toUpperCase().split('_')
  return words.some((_, index) => words.toSpliced(index, 1).join('_') === ours)
}

function faultOf(name: string, near: string | undefined): string {
  const repair = near === undefined ? '; remove it' : `: did you mean ${near}? Correct it`
  return `${name} is not a variable of Tollgate${repair}, or list it in TOLLGATE_ALLOW_UNKNOWN`
}

/** Variables that hold credentials, by the text of the channel file: it may have faults, which its reading reports. */
function credentialNames(channelsFile: string | undefined): ReadonlySet<string> {
  if (channelsFile === undefined) return new Set()
  try {
    const text = readFileSync(channelsFile, 'utf8')
    return new Set(Array.from(text.matchAll(/\benv['"]?:\s*['"]?(\w+)/g), ([, name = '']) => name))
  } catch {
    return new Set()
  }
}
