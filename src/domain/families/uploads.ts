import type { UploadPurpose } from '../upload/events.ts'
import { VOICE_CLONE } from './speech/models.ts'
import { SPEECH } from './speech/rules.ts'

/** Which accounts take the uploads of a purpose, and how large one may be. */
export interface UploadPlace {
  /** What a channel names as its `family`. */
  readonly family: string
  /** Only an account that offers this will do. */
  readonly model?: string
  readonly maxBytes: number
}

const MIB = 1024 * 1024
const ofVoices: UploadPlace = { family: SPEECH, model: VOICE_CLONE, maxBytes: 20 * MIB }

/** Where what callers upload goes. */
export const uploadPlaces: Readonly<Record<UploadPurpose, UploadPlace>> = {
  voice_clone: ofVoices,
  prompt_audio: ofVoices,
  video_generation_input: { family: 'video-b', maxBytes: 50 * MIB },
}

/** Of the largest there is. */
export const MAX_UPLOAD_BYTES = Math.max(
  ...Object.values(uploadPlaces).map(({ maxBytes }) => maxBytes),
)
