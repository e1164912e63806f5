import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { checkout } from '../helpers/checkout.ts'

/**
 * The library of pages refers to the types of browsers. In a server their names (`document`, `name`, `event`) would
 * hide a forgotten variable, so the compiler must not know them.
 */

const root = fileURLToPath(checkout)
const compiler = join(root, 'node_modules/typescript/bin/tsc')

t.test('names of a browser are unknown to the files of the server', async (t) => {
  const settings = { extends: join(root, 'tsconfig.json'), include: ['*.ts', '*.tsx'] }
  const folder = t.testdir({
    'page.tsx': `import type { JSX } from 'preact'\nexport const page = (text: string): JSX.Element => <p>{text}</p>\n`,
    'names.ts': 'export const title = [document.title, name]\n',
    'tsconfig.json': JSON.stringify(settings),
  })
  const compile = promisify(execFile)(process.execPath, [compiler, '-p', folder])
  const { stdout } = await compile.then(() => ({ stdout: '' }), Object)
  t.match(stdout, /names\.ts\(1,\d+\): error TS2584: Cannot find name 'document'/)
  t.match(stdout, /names\.ts\(1,\d+\): error TS2304: Cannot find name 'name'/)
  t.notMatch(stdout, /page\.tsx/, 'a page can be written')
})
