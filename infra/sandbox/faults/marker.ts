import { NO_FAULTS, parseSwitches, type Faults } from './vocabulary.ts'

/** What a prompt says to the sandbox besides what it says to a model. */
export interface PromptMarkers {
  readonly faults: Faults
  /** Text of `[[client=XYZ]]`, at most 200 characters: a test's own name for the request. */
  readonly clientMarker: string | null
}

const MAX_MARKERS = 20

/** Of a prompt that says nothing to the sandbox. */
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
