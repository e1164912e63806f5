import type { Removal, Sight, Usage } from './family.ts'

/** `/v1/videos`: where tasks of every family of videos are alike. */

export const VIDEOS = '/v1/videos'

export const videoPath = (id: string): string => `${VIDEOS}/${id}`

export function videoRemoval(id: string): Removal {
  return { method: 'DELETE', path: videoPath(id), hides: true }
}

const words: Readonly<Record<string, string>> = {
  in_progress: 'running',
  completed: 'succeeded',
}

/** What is shown there of a task, as its own family would say it. */
export function videoSightOf({ status, error, usage }: Readonly<Record<string, unknown>>): Sight {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  const end = code === 'cancelled' || code === 'expired' ? code : 'failed'
  const word = String(status)
  const isDone = word === 'completed'
  return {
    status: word === 'failed' ? end : (words[word] ?? word),
    usage: isDone ? (usage as Usage) : undefined,
  }
}
