import type { AudioFormat } from '../../domain/catalog/audio-formats.ts'
import type { Usage } from '../../domain/pricing/usage.ts'
import type { CallFamily, CallInput } from './family.ts'

/** Families whose models speak a text as the bytes of a file. */

/** Media types of audio that is answered as its bytes. */
export const mediaTypes: Readonly<Record<AudioFormat, string>> = {
  mp3: 'audio/mpeg',
  pcm: 'audio/pcm',
  flac: 'audio/flac',
  wav: 'audio/wav',
}

/** A request for speech, in a form that every family can read. */
export interface SpeechOrder {
  /** External name. */
  readonly model: string
  readonly text: string
  readonly voice: {
    readonly name: string
    /** Whether the caller gave an object with an `id`, as clients name voices that were made for them. */
    readonly byId: boolean
  }
  readonly format: AudioFormat
  readonly speed: number | undefined
}

/** The usage of a spoken text. */
export interface SpokenSeen {
  readonly usage: Usage
}

/** An order as a call of its family. */
export interface SpokenCall {
  /** The `family` of its channels. */
  readonly family: string
  readonly calls: CallFamily<CallInput, undefined, SpokenSeen, Uint8Array>
}

/** A family that speaks. */
export interface Speaker {
  /** Whether its channels may serve a model. */
  readonly knows: (model: string) => boolean
  /** @throws DomainError `invalid_request`, naming a member of the order as callers do */
  readonly read: (order: SpeechOrder, tenantId: string) => Promise<SpokenCall>
  /** An order that its sandbox answers, for the documentation. */
  readonly example: { readonly model: string; readonly voice: string }
}
