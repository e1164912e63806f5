import type { TaskSubmission } from '../../../app/ports.ts'
import { isJsonObject } from '../../../kernel/json.ts'

/** Upstream knows uploaded files by a scheme of its own. */
const OURS = /^media_file:\/\//
const UPSTREAM_SCHEME = 'mm_file://'

/** A body with its references to uploaded files as upstream writes them. */
export function upstreamContent(body: TaskSubmission['body']): TaskSubmission['body'] {
  const { content } = body
  if (!Array.isArray(content)) return body
  return {
    ...body,
    content: content.map((item: unknown) =>
      isJsonObject(item)
        ? Object.fromEntries(Object.entries(item).map(([name, part]) => [name, renamed(part)]))
        : item,
    ),
  }
}

function renamed(part: unknown): unknown {
  if (!isJsonObject(part) || typeof part['url'] !== 'string') return part
  return { ...part, url: part['url'].replace(OURS, UPSTREAM_SCHEME) }
}
