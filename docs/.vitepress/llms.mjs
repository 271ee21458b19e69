// The pages for language models (llmstxt.org): llms.txt is a list, llms-full.txt all pages in one, and beside each
// page is its Markdown.

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { onGitHub } from './markdown.mjs'
import { flat, withoutComments } from './pages.mjs'

const line = ({ path, title, sentence }) => `- [${title}](${path}.md)${sentence && ': ' + sentence}\n`

// markdown is a page's source without the tests' directives, and with links that lead somewhere outside of docs/, too.
const markdown = ({ path, source }) => withoutComments(source).trim().replace(/(\]\()([^)\s]+)(?=\))/g,
  (match, start, href) => start + (onGitHub(path + '.md', href) ?? href)) + '\n'

function write(file, text) {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

export function writeForModels(outDir, home, pages, sidebar) {
  const byPath = new Map(pages.map((page) => [page.path, page]))
  const groups = sidebar.map(({ text, items }) => ({ text, pages: flat(items).map(({ link }) => byPath.get(link)) }))
  write(join(outDir, 'llms.txt'), `# zktorture\n\n> ${home.sentence}\n` +
    groups.map((group) => `\n## ${group.text}\n\n${group.pages.map(line).join('')}`).join(''))
  write(join(outDir, 'llms-full.txt'), [home, ...groups.flatMap((group) => group.pages)].map(markdown).join('\n'))
  for (const page of pages) write(join(outDir, page.path + '.md'), markdown(page))
}
