import { type Static, Type } from 'typebox'
import { shownSettings } from '../../../api/kit/routes/tasks.ts'
import type { TaskView } from '../../../app/tasks/types.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import { CREDITS } from '../rules/pricing.ts'
import { shownMembers } from '../rules/request.ts'

/** Answers of the `/provC` video interface. */

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
  created_at: Type.String({ format: 'date-time', description: 'RFC 3339.' }),
}

export const CreatedClipSchema = Type.Object(
  {
    task_id: Type.String({ examples: ['8312345678901234'] }),
    id: Type.String({ description: 'Equal to `task_id`.' }),
    platform_id: PlatformId,
    state: State,
    ...shown,
  },
  { named: 'CreatedClip', description: 'The task exists; requests accept either id.' },
)

export const ClipSchema = Type.Object(
  {
    id: Type.String({ examples: ['8312345678901234'] }),
    platform_id: PlatformId,
    state: State,
    err_code: Type.String({ description: 'Error code of a failed task; otherwise empty.' }),
    credits: Type.Integer({ description: 'Credits that the task cost; 0 unless it succeeded.' }),
    creations: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          url: Type.String({ description: 'Signed; valid about 24 hours.' }),
          cover_url: Type.Optional(Type.String()),
          watermarked_url: Type.Optional(
            Type.String({ description: 'Only if the request asked for a watermark.' }),
          ),
        },
        { named: 'ClipResult' },
      ),
    ),
    ...shown,
  },
  { named: 'Clip' },
)

export const ClipParamsSchema = Type.Object({
  id: Type.String({ description: 'The task_id or the platform_id of the creation.' }),
})

type Clip = Static<typeof ClipSchema>

/** This family's names of ends that are no failures of the model. */
const CANCELLED = 'UserCancelled'
const EXPIRED = 'TaskExpired'

function stateOf({ status, observedAtMs }: TaskView): Clip['state'] {
  switch (status) {
    case 'queued':
      return observedAtMs === undefined ? 'created' : 'queueing'
    case 'running':
      return 'processing'
    case 'succeeded':
      return 'success'
    case 'failed':
    case 'expired':
    case 'cancelled':
      return 'failed'
  }
}

function errorOf({ status, error }: TaskView): string {
  if (status === 'cancelled') return CANCELLED
  if (status === 'expired') return EXPIRED
  return status === 'failed' ? (error?.code ?? '') : ''
}

/** The settings of the request, with this family's names. */
export function requestSettingsOf(settings: TaskView['settings']): Partial<Clip> {
  return shownSettings(settings, ['duration', ...shownMembers])
}

function creationsOf({ urls, settings, platformId }: TaskView): Clip['creations'] {
  const { url, cover_url, watermarked_url } = urls ?? {}
  if (url === undefined) return []
  const id = String(settings['creation_id'] ?? platformId)
  const marked = settings['watermark'] === true ? watermarked_url : undefined
  return [
    {
      id,
      url,
      ...(cover_url === undefined ? {} : { cover_url }),
      ...(marked === undefined ? {} : { watermarked_url: marked }),
    },
  ]
}

/** A task in the family's shape. */
export function toClip(view: TaskView): Clip {
  return {
    id: view.nativeId ?? view.platformId,
    platform_id: view.platformId,
    state: stateOf(view),
    err_code: errorOf(view),
    credits: view.status === 'succeeded' ? (view.usage?.[CREDITS] ?? 0) : 0,
    creations: view.status === 'succeeded' ? creationsOf(view) : [],
    model: view.model,
    ...requestSettingsOf(view.settings),
    payload: view.callerMarker ?? '',
    created_at: toTimestamp(view.createdAtMs),
  }
}
