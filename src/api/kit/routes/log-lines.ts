/** The log lines of requests. This file loads nothing, because a process opens its log first. */

/** Message of the log line of an answered request. */
export const ANSWERED = 'request'

/** Headers that hold tokens: those of every mount's `keyHeaders` are among them. */
const secretHeaders = [
  'authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'x-native-api-key',
  'x-goog-api-key',
]

/**
 * For the logger's `redact`: if a request, a response or headers are ever logged whole, these stay
 * out (P7). The gateway's own lines never hold them.
 */
export const logRedaction = {
  paths: [
    'body',
    '*.authorization',
    '*.cookie',
    '*.body',
    // Queries hold signatures and one-time credentials.
    'req.url',
    'req.query',
    ...secretHeaders.flatMap((name) => [
      `*.headers["${name}"]`,
      `headers["${name}"]`,
      `["${name}"]`,
    ]),
  ],
  censor: '[redacted]',
}
