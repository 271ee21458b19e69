// The pages of the site, and what can be said of each from its Markdown.

import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const docs = dirname(dirname(fileURLToPath(import.meta.url)))

const groups = [
  ['tutorial', 'Tutorial'],
  ['howto', 'How-to'],
  ['cookbook', 'Cookbook'],
  ['reference', 'Reference'],
  ['explanation', 'Explanation'],
]

// The order of pages that say none in their front matter, and the groups of those that are in no folder. Pages that are
// not named here come last.
const placed = {
  tutorial: ['tutorial/one-znode', 'tutorial/queue', 'tutorial/lost-replies', 'tutorial/sessions', 'tutorial/beyond'],
  howto: [
    'howto/own-recipe', 'howto/conn', 'howto/own-kind', 'howto/other-languages', 'serve', 'howto/choose-a-strategy',
    'howto/what-tests-expect', 'exact', 'howto/read-a-failure', 'howto/read-a-story', 'howto/check-a-history', 'howto/known-bugs', 'found',
    'ensemble', 'live', 'proxy', 'workers', 'ci', 'campaign',
  ],
  reference: ['glossary', 'recipes', 'reference/torture'],
  explanation: ['explanation/overview', 'explanation/what-a-pass-proves', 'explanation/fidelity', 'ARCHITECTURE'],
}

// plain removes the marks of Markdown, and escapes of HTML, from one line.
const plain = (line) => line
  .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*\\]|<[^>]*>/g, '').trim()

const fences = /^(```+|~~~+)[^]*?^\1.*$/gm

export const withoutComments = (markdown) => markdown.replace(/<!--[^]*?-->\n?/g, '')

// read returns a page: its path below docs/ without .md, source, title, first sentence, and order in its folder.
function read(path) {
  const text = readFileSync(join(docs, path + '.md'), 'utf8')
  const [, front = '', source] = text.match(/^(?:---\n([^]*?)\n---\n)?([^]*)$/)
  const prose = withoutComments(source).replace(fences, '')
  const title = prose.match(/^# (.+)$/m)?.[1]
  if (!title) throw new Error(`docs/${path}.md has no heading of the first level: begin it with "# Title"`)
  const paragraph = prose.slice(prose.indexOf(title) + title.length).trim().split(/\n\s*\n/)[0].replace(/\s+/g, ' ')
  const sentence = /^[#|<-]/.test(paragraph) ? '' : plain(paragraph).match(/^.*?[.?!](?= |$)|^.*/)[0].replace(/:$/, '.')
  const order = Number(front.match(/^order: *(\S+) *$/m)?.[1] ?? (/(^|\/)index$/.test(path) ? 0 : Infinity))
  return { path, source, title: plain(title), sentence, order }
}

function below(folder) {
  return readdirSync(join(docs, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return ['node_modules', '.vitepress', 'public'].includes(path) ? [] : below(path)
    return path.endsWith('.md') ? [path.slice(0, -'.md'.length)] : []
  })
}

// place is that of a page in its group: by its front matter, then by the list above.
const place = (page, listed) => (listed.indexOf(page.path) + 1 || listed.length + 1)

// group returns the items of a group.
function group(pages, folder) {
  const listed = placed[folder] ?? []
  const inOrder = (a, b) => (a.order === b.order ? place(a, listed) - place(b, listed) : a.order - b.order) ||
    a.path.localeCompare(b.path, 'en', { numeric: true })
  const own = pages.filter(({ path }) => path.startsWith(folder + '/') || listed.includes(path)).sort(inOrder)
  return own.filter((page) => !parent(page, own)).map((page) => item(page, own))
}

// parent is the page under which another one is: torture-run is under torture, and a folder under its index.
function parent({ path }, pages) {
  const inner = (other) => /\/.*\/index$/.test(other) && path !== other && path.startsWith(other.slice(0, -'index'.length))
  const over = pages.filter((page) => path.startsWith(page.path + '-') || inner(page.path))
  return over.sort((a, b) => b.path.length - a.path.length)[0]
}

function item(page, pages) {
  const own = { text: page.title, link: page.path }
  const below = pages.filter((other) => parent(other, pages) === page)
  return below.length === 0 ? own : { text: page.title, items: [own, ...below.map((other) => item(other, pages))] }
}

// site returns all pages, the groups of the sidebar, and the home page.
export function site() {
  const pages = below('').map(read)
  const home = pages.find((page) => page.path === 'index')
  const sidebar = groups.map(([folder, text]) => ({ text, items: group(pages, folder) })).filter(({ items }) => items.length > 0)
  const shown = new Set(['index', ...sidebar.flatMap((group) => flat(group.items)).map((item) => item.link)])
  for (const { path } of pages) {
    if (!shown.has(path)) throw new Error(`docs/${path}.md is in no group: name it in docs/.vitepress/pages.mjs`)
  }
  return { pages, home, sidebar }
}

// flat lists the pages among items and in them.
export const flat = (items) => items.flatMap((item) => (item.items ? flat(item.items) : [item]))
