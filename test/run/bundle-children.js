#!/usr/bin/env node
/**
 * Bundles what tests run as processes of their own, as the program itself is: `node test/run/bundle-children.js FOLDER`.
 * A test names such a module as `new URL('x.ts', import.meta.url)`, by which they are found.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundle } from '../../infra/bundle.js'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const tests = join(root, 'test')

/** The modules of tests that a source runs as processes. */
function childrenIn(path) {
  const names = readFileSync(path, 'utf8').matchAll(
    /new URL\(\s*'([^']+\.ts)',\s*import\.meta\.url/g,
  )
  return [...names]
    .map(([, name]) => fileURLToPath(new URL(name, pathToFileURL(path))))
    .filter((child) => child.startsWith(tests) && existsSync(child))
}

const sources = readdirSync(tests, { recursive: true })
  .filter((name) => name.endsWith('.ts') && !name.startsWith('bench'))
  .map((name) => join(tests, name))
const children = new Set(sources.flatMap(childrenIn))
await bundle(
  process.argv[2],
  [...children].map((path) => relative(root, path)),
)
