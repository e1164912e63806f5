import type { FastifySchema } from 'fastify'
import type { TSchema } from 'typebox'
import { answer, costHeaderNames, type DescribedHeader } from './answer-documentation.ts'
import { failureResponses, type FailureShape } from './failure-documentation.ts'
import type { FailureCode } from './failure-table.ts'
import type { Tag } from './surface.ts'

function headersOf(failures: readonly FailureCode[]): readonly DescribedHeader[] {
  if (failures.includes('idempotency_key_reused')) return ['x-platform-id', 'idempotent-replayed']
  return failures.includes('task_not_found') ? ['x-platform-id'] : []
}

/** The section that tasks of videos are described in. */
export const videoTasks: Tag = {
  name: 'Video tasks',
  description: 'Create, query, list and delete tasks that make a video.',
}

/**
 * Tells what the OpenAPI description says of the task routes of a surface, their failures included.
 * `ofCreations` are failures that say more than their kind.
 */
export function taskDescriber(shape: FailureShape, ofCreations: readonly Error[]) {
  return (route: {
    readonly operationId: string
    readonly summary: string
    readonly ok: TSchema
    readonly failures: readonly FailureCode[]
    /** It says what the task was settled at. */
    readonly costs?: boolean
  }): FastifySchema => {
    const { failures } = route
    const headers = headersOf(failures)
    const further = failures.includes('idempotency_key_reused') ? ofCreations : []
    return {
      operationId: route.operationId,
      tags: [videoTasks.name],
      summary: route.summary,
      security: [{ modelToken: [] }],
      response: {
        200: answer({
          json: route.ok,
          headers: route.costs === true ? [...headers, ...costHeaderNames] : headers,
        }),
        ...failureResponses(shape, failures, further, headers),
      },
    }
  }
}
