import type { Static } from 'typebox'
import type { TaskView } from '../../../app/tasks/types.ts'
import { CREDITS } from '../rules/pricing.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import { shownSettings } from '../../../api/kit/task-answer.ts'
import type { ClipSchema } from './schemas.ts'

type Clip = Static<typeof ClipSchema>

const echoed = [
  'duration',
  'resolution',
  'aspect_ratio',
  'movement_amplitude',
  'style',
  'audio',
  'bgm',
  'seed',
  'off_peak',
  'watermark',
] as const

/** What this family calls the ends that are no failures of the model. */
const CANCELLED = 'UserCancelled'
const EXPIRED = 'TaskExpired'

export function stateOf({ status, observedAtMs }: TaskView): Clip['state'] {
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

/** What it was asked for with, in this family's names. */
export function settingsOf(settings: TaskView['settings']): Partial<Clip> {
  return shownSettings(settings, echoed)
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
    ...settingsOf(view.settings),
    payload: view.callerMarker ?? '',
    created_at: toTimestamp(view.createdAtMs),
  }
}
