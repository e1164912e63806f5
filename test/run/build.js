#!/usr/bin/env node
/**
 * Compiles the tests into `.build`: `node test/run/build.js [PREFIX...]`, all of them or those whose path begins so, with
 * what they load. Beside them stand the program as it is released (`product`), and what tests run as processes of
 * their own, joined as the program is (`children`). Types are not looked at: `npm run check:types` does that.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildProgram, bundle, copyProgramFiles } from '../../infra/bundle.js'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const out = join(root, '.build')
const CONFIG = 'tsconfig.json'

/** What compiled tests read beside themselves. */
const data = [
  'package.json',
  '.env.example',
  'infra/watch',
  'infra/channels.example.yaml',
  'test/fixtures',
  'test/faults/power/recorder.c',
]

/** Any gateway and any command inside a test starts the one to close a month, and the other to audit. */
const ofGateways = ['src/cli/statements-process.ts', 'src/cli/audit-process.ts']
/** Sources that run as processes, of the tests themselves and of any gateway inside a test. */
const always = ['test/run/main.ts', 'test/run/worker.ts', ...ofGateways]

/** Runs a program of `node_modules/.bin`. @throws where it fails */
async function run(program, args) {
  const child = spawn(join(root, 'node_modules', '.bin', program), args, {
    cwd: root,
    stdio: 'inherit',
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}`)
}

/** The paths below a folder, from the root. */
const filesBelow = (folder) =>
  readdirSync(join(root, folder), { recursive: true }).map((name) => `${folder}/${name}`)

/** The modules that a source of the tests runs as processes: it names each as `new URL('x.ts', import.meta.url)`. */
function childrenIn(source) {
  const path = join(root, source)
  const names = readFileSync(path, 'utf8').matchAll(
    /new URL\(\s*'([^']+\.ts)',\s*import\.meta\.url/g,
  )
  return [...names]
    .map(([, name]) => fileURLToPath(new URL(name, pathToFileURL(path))))
    .filter((child) => existsSync(child))
    .map((child) => relative(root, child))
}

/** The modules that these tests run under the supervisor, which starts them as compiled files of `.build`. */
function supervisedBy(tests) {
  const ofEmbedded = tests.filter((name) => name.startsWith('test/infra/embedded/'))
  if (ofEmbedded.length === 0) return []
  return [...new Set(ofEmbedded.flatMap(childrenIn)), 'infra/embedded/eventstore/main.ts']
}

/** Compiles these sources with all that they import. */
async function compile(files) {
  const config = join(out, CONFIG)
  const chosen = { extends: '../tsconfig.test.json', files: files.map((name) => `../${name}`) }
  await writeFile(config, JSON.stringify({ ...chosen, include: [] }))
  await run('tsc', ['-p', config])
}

/** The sources of tests that were compiled. */
const compiledSources = () =>
  filesBelow('.build/test')
    .filter((name) => name.endsWith('.js'))
    .map((name) => name.slice('.build/'.length).replace(/\.js$/, '.ts'))

/** Builds what these sources of tests run as processes; whether the program is among it. */
async function buildProcesses(testSources) {
  const sources = testSources.filter((name) => !name.startsWith('test/bench/'))
  const children = [...new Set(sources.flatMap(childrenIn))]
  const ofTests = children.filter((name) => name.startsWith('test/'))
  const ofProgram = children.length > ofTests.length || sources.includes('test/helpers/product.ts')
  await Promise.all([
    ofProgram && buildProgram(join(out, 'product')),
    ofTests.length > 0 && bundle(join(out, 'children'), [...ofTests, ...ofGateways]),
  ])
  return ofProgram
}

/** Has a gateway inside a test start the joined file of the program: to load hundreds takes three times as long. */
async function startAsReleased(source) {
  const path = source.replace(/\.ts$/, '.js')
  const released = relative(dirname(path), join('product', path))
  await writeFile(join(out, path), `import './${released}'\n`)
}

/** Compiles the tests whose paths begin with one of these, or all. @throws where no path does */
export async function buildTests(prefixes) {
  const tests = filesBelow('test').filter((name) => name.endsWith('.test.ts'))
  const chosen = tests.filter((name) => prefixes.some((prefix) => name.startsWith(prefix)))
  const unknown = prefixes.filter((prefix) => !chosen.some((name) => name.startsWith(prefix)))
  if (unknown.length > 0)
    throw new Error(`no path of a test file begins with ${unknown.join(' or ')}`)
  await rm(out, { recursive: true, force: true })
  await mkdir(out)
  const isWhole = prefixes.length === 0
  const compiled = isWhole
    ? run('tsc', ['-p', 'tsconfig.test.json'])
    : compile([...chosen, ...supervisedBy(chosen), ...always])
  const [ofProgram] = await Promise.all([
    // Of a few tests, what is compiled says which processes they run; of all, their sources do.
    isWhole
      ? buildProcesses(filesBelow('test').filter((name) => name.endsWith('.ts')))
      : compiled.then(() => buildProcesses(compiledSources())),
    compiled,
    copyProgramFiles(out),
    ...data.map((name) => cp(join(root, name), join(out, name), { recursive: true })),
    // What `tap`, which runs them all, has to know of its plugins.
    isWhole && run('tap', ['build']),
  ])
  if (ofProgram) await Promise.all(ofGateways.map(startAsReleased))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildTests(process.argv.slice(2))
