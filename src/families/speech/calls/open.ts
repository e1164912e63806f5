import type { Unmade } from '../../../app/calls/types.ts'
import { createResolveVoice, createVoiceBook, type ResolveVoice } from './voices.ts'
import {
  type CloneDeps,
  type CloneFamily,
  createCloneFamily,
  type FoundClone,
  readyClone,
} from './clone.ts'
import type { SpeechProvider } from '../ports.ts'
import { createSpeechFamily, type SpeechCallFamily } from './family.ts'
import type { CloneInput } from './types.ts'

/** Speech at once and clones, as the routes of the family ask for them. */
export interface SpeechCalls {
  readonly speech: SpeechCallFamily
  readonly clones: CloneFamily
  /** Finds what a clone is made of. */
  readonly readyClone: <Asked extends Unmade<CloneInput>>(
    asked: Asked,
  ) => Promise<Asked & FoundClone>
  /** Whose voice a caller means by its name. */
  readonly resolveVoice: ResolveVoice
}

export function openSpeech({
  provider,
  ...deps
}: Omit<CloneDeps, 'voices'> & { readonly provider: SpeechProvider }): SpeechCalls {
  const voices = createVoiceBook(deps.log)
  const cloning = { ...deps, voices }
  return {
    speech: createSpeechFamily(provider),
    clones: createCloneFamily(cloning),
    readyClone: (asked) => readyClone(cloning, asked),
    resolveVoice: createResolveVoice(voices.find),
  }
}
