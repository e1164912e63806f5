import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { answer } from '../../../api/kit/documentation.ts'
import type { Surface } from '../../../api/kit/surface.ts'

const PREFIX = '/real-person'
const PATH = `${PREFIX}/callback`

const style =
  'body{font:1.1rem/1.6 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem}'

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>Verification</title>
<style>${style}</style>
</head>
<body>
<p>This step has ended. You can close this page and go back to where you came from.</p>
<p lang="zh-Hans">此步骤已结束。您可以关闭此页面并返回原来的页面。</p>
<p lang="zh-Hant">此步驟已結束。您可以關閉此頁面並返回原來的頁面。</p>
</body>
</html>
`

const headers = {
  'cache-control': 'no-store',
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
} as const

/**
 * A page for persons to come back to from their verification, for callers who have none of their own.
 * It is the same for everybody: it says nothing of how the verification went, and of its query, which
 * holds the one-time credential, nothing is read, shown, kept or logged.
 */
export const realPersonSurface: Surface = {
  mount: { prefix: PREFIX, isOpen: true, bodyBytes: 1024 },
  endpoints: {},
  bodies: [],
  register: (app: FastifyInstance): void => {
    app.addHook('onRequest', (request, _reply, done) => {
      // Whatever is said of this request from here on, its query cannot be in it.
      request.raw.url = PATH
      done()
    })
    app.get('/callback', {
      schema: {
        operationId: 'getRealPersonCallback',
        tags: ['Assets'],
        summary: 'A page for persons to come back to from their verification',
        response: { 200: answer({ others: { 'text/html': 'The same page for everybody.' } }) },
      },
      handler: async (_request, reply) =>
        reply.headers(headers).type('text/html; charset=utf-8').send(page),
    })
  },
}
