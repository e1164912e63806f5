import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { sha256Hex } from '../../kernel/ids.ts'
import { programFile } from '../../platform/program-files.ts'

/** The files of the console: read and compressed once, named by their content, never written. */

const files = {
  'console.css': ['src/console/static/console.css', 'text/css; charset=utf-8'],
  'htmx.js': ['node_modules/htmx.org/dist/htmx.min.js', 'text/javascript; charset=utf-8'],
  'icon.svg': ['src/console/static/icon.svg', 'image/svg+xml'],
} as const
type AssetName = keyof typeof files
const names = Object.keys(files) as readonly AssetName[]

interface Asset {
  readonly path: string
  /** Compressed: every browser that can show these pages takes gzip. */
  readonly body: Buffer
  readonly type: string
}

const kept = new Map<AssetName, Asset>()

function assetOf(name: AssetName): Asset {
  const known = kept.get(name)
  if (known !== undefined) return known
  const [path, type] = files[name]
  const body = readFileSync(programFile(path))
  const made = {
    path: `/static/${sha256Hex(body).slice(0, 16)}/${name}`,
    body: gzipSync(body, { level: 9 }),
    type,
  }
  kept.set(name, made)
  return made
}

/** The address of a file: another content is another address. */
export function assetUrl(name: AssetName): string {
  return `/console${assetOf(name).path}`
}

/** Serves the files below the console. */
export function assetRoutes(app: FastifyInstance): void {
  for (const { path, body, type } of names.map(assetOf))
    app.get(path, { schema: { hide: true } }, (_request, reply) =>
      reply
        .type(type)
        .header('content-encoding', 'gzip')
        .header('cache-control', 'public, max-age=31536000, immutable')
        .send(body),
    )
}
