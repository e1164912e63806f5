import { Type } from 'typebox'
import type { AlsoKnown } from '../../../api/kit/names.ts'

/** Shapes of the `/provC` video interface; the rules themselves are the catalog's. */

const common = {
  model: Type.String({ description: 'External model name; which there are goes by the path.' }),
  prompt: Type.Optional(Type.String({ description: 'At most 2000 characters.' })),
  duration: Type.Optional(Type.Integer({ description: 'Seconds; which there are goes by model.' })),
  resolution: Type.Optional(Type.Enum(['540p', '720p', '1080p'])),
  movement_amplitude: Type.Optional(Type.Enum(['auto', 'small', 'medium', 'large'])),
  audio: Type.Optional(Type.Boolean({ description: 'Sound with the picture: clipq3 models.' })),
  bgm: Type.Optional(Type.Boolean()),
  seed: Type.Optional(Type.Integer({ minimum: 0 })),
  off_peak: Type.Optional(Type.Boolean({ description: 'Half the credits; may wait for hours.' })),
  watermark: Type.Optional(Type.Boolean()),
  wm_position: Type.Optional(
    Type.String({ description: '"1" to "4", or top_left, top_right, bottom_right, bottom_left.' }),
  ),
  wm_url: Type.Optional(Type.String()),
  payload: Type.Optional(
    Type.String({ description: 'At most 512 characters, told again by queries and callbacks.' }),
  ),
  meta_data: Type.Optional(Type.String()),
  callback_url: Type.Optional(
    Type.String({ description: 'https:// URL whose host is publicly routable.' }),
  ),
}

const aspect_ratio = Type.Optional(Type.Enum(['16:9', '9:16', '1:1', '4:3', '3:4']))

function images(minItems: number, maxItems: number) {
  return Type.Array(Type.String(), { minItems, maxItems, description: 'URLs or data URIs.' })
}

const open = { additionalProperties: true }
const url = 'https://media.example.test/boat.png'

export const bodySchemas = {
  text2video: Type.Object(
    {
      ...common,
      prompt: Type.String({ description: 'At most 2000 characters.' }),
      style: Type.Optional(Type.Enum(['general', 'anime'])),
      aspect_ratio,
    },
    { ...open, examples: [{ model: 'clipq3-pro', prompt: 'a fox in the snow', duration: 5 }] },
  ),
  img2video: Type.Object(
    { ...common, images: images(1, 1) },
    { ...open, examples: [{ model: 'clipq3-pro', images: [url] }] },
  ),
  'start-end2video': Type.Object(
    { ...common, images: images(2, 2) },
    { ...open, examples: [{ model: 'clipq3-pro', images: [url, url] }] },
  ),
  reference2video: Type.Object(
    {
      ...common,
      prompt: Type.String({ description: 'At most 2000 characters.' }),
      images: images(1, 7),
      aspect_ratio,
    },
    { ...open, examples: [{ model: 'clipq2', prompt: 'the boat sails', images: [url] }] },
  ),
} as const

/** Of a creation: another path's, refused by the rules. */
export const alsoInClips: AlsoKnown = { '': 'images style aspect_ratio' }

const PlatformId = Type.String({ examples: ['video_01JABCDEFGHJKMNPQRSTVWXYZ0'] })
const State = Type.Enum(['created', 'queueing', 'processing', 'success', 'failed'])

const shown = {
  model: Type.Optional(Type.String()),
  duration: Type.Optional(Type.Number()),
  resolution: Type.Optional(Type.String()),
  aspect_ratio: Type.Optional(Type.String()),
  movement_amplitude: Type.Optional(Type.String()),
  style: Type.Optional(Type.String()),
  audio: Type.Optional(Type.Boolean()),
  bgm: Type.Optional(Type.Boolean()),
  seed: Type.Optional(Type.Number()),
  off_peak: Type.Optional(Type.Boolean()),
  watermark: Type.Optional(Type.Boolean()),
  payload: Type.String(),
  created_at: Type.String({ description: 'RFC 3339.' }),
}

export const CreatedClipSchema = Type.Object(
  {
    task_id: Type.String({ examples: ['8312345678901234'] }),
    id: Type.String({ description: 'The same.' }),
    platform_id: PlatformId,
    state: State,
    ...shown,
  },
  { description: 'The task exists; either id names it.' },
)

export const ClipSchema = Type.Object({
  id: Type.String({ examples: ['8312345678901234'] }),
  platform_id: PlatformId,
  state: State,
  err_code: Type.String({ description: 'Of a failed one; else empty.' }),
  credits: Type.Integer({ description: 'What it took: 0 unless it succeeded.' }),
  creations: Type.Array(
    Type.Object({
      id: Type.String(),
      url: Type.String({ description: 'Signed; valid about 24 hours.' }),
      cover_url: Type.Optional(Type.String()),
      watermarked_url: Type.Optional(
        Type.String({ description: 'Where a watermark was asked for.' }),
      ),
    }),
  ),
  ...shown,
})

export const ClipParamsSchema = Type.Object({
  id: Type.String({ description: 'The task_id or the platform_id of the creation.' }),
})
