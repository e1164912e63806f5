import type { FastifySchema } from 'fastify'

/** What the OpenAPI description says of both native routes. */
export function describe(summary: string): FastifySchema {
  return {
    tags: ['Text'],
    summary,
    description:
      'The token is sent as a bearer token or in `x-native-api-key`, never in the URL. Failures: `{"error": {"code", "message", "status", "details"}}`.',
    security: [{ modelToken: [] }],
  }
}
