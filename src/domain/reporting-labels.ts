import { Type } from '@sinclair/typebox'

/**
 * Who or what a request was made for, as the tenant's reports name it: only what the tenant has declared is
 * in an event, because the log is never erased.
 */
export const reportingLabelMembers = {
  /** Values by declared key, each of 1 to 128 characters. */
  tags: Type.Optional(Type.Record(Type.String(), Type.String())),
  /** The tenant's own id of its end user, of 1 to 128 characters. */
  endUser: Type.Optional(Type.String()),
} as const

/** The labels that a request names, of any form; a member is absent where it names none. */
export interface NamedLabels {
  readonly tags?: Readonly<Record<string, unknown>>
  readonly endUser?: unknown
}

/** The labels of one request; a member is absent where nothing was given or declared. */
export interface ReportingLabels {
  readonly tags?: Readonly<Record<string, string>>
  readonly endUser?: string
}

/** The labels of a request for another of its events; empty where there are none. */
export function labelsIn({ tags, endUser }: ReportingLabels): ReportingLabels {
  return {
    ...(tags === undefined ? {} : { tags }),
    ...(endUser === undefined ? {} : { endUser }),
  }
}
