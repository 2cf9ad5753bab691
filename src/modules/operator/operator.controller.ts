import { Controller, Get, HttpException, HttpStatus, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Desk } from './desk.js';
import { PAGE_HEADERS, readPageFiles } from './page-files.js';
import { Watchers } from './watchers.js';

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** The operator's page and what it reads. Nothing here changes anything. */
@Controller()
export class OperatorController {
  readonly #files = readPageFiles();

  constructor(
    private readonly desk: Desk,
    private readonly watchers: Watchers,
  ) {}

  @Get()
  page(@Res() reply: FastifyReply): void {
    this.#sendFile('page.html', reply);
  }

  @Get('page/:name')
  file(@Param('name') name: string, @Res() reply: FastifyReply): void {
    this.#sendFile(name, reply);
  }

  @Get('api/about')
  about(@Res() reply: FastifyReply): void {
    send(reply, this.desk.about());
  }

  @Get('api/snapshot')
  async snapshot(@Res() reply: FastifyReply): Promise<void> {
    send(reply, await this.desk.snapshot());
  }

  @Get('api/history')
  history(@Res() reply: FastifyReply): void {
    send(reply, this.desk.history());
  }

  /** All that is known of the requests with this id; an empty list where nothing is. */
  @Get('api/requests')
  async requests(@Query('id') id: unknown, @Res() reply: FastifyReply): Promise<void> {
    if (typeof id !== 'string' || !REQUEST_ID.test(id))
      throw new HttpException('id: 1 to 128 of A-Z a-z 0-9 . _ - are a request id', HttpStatus.BAD_REQUEST);
    send(reply, { id, ...(await this.desk.stories(id)) });
  }

  /** `about` and `history` at first, then a `snapshot` every second. */
  @Get('api/events')
  events(@Res() reply: FastifyReply): void {
    if (this.watchers.full)
      throw new HttpException('as many pages are open as may be: close one', HttpStatus.SERVICE_UNAVAILABLE);
    reply.hijack();
    this.watchers.add(reply.raw, PAGE_HEADERS);
  }

  #sendFile(name: string, reply: FastifyReply): void {
    const file = this.#files.get(name);
    if (file === undefined) throw new HttpException('there is no such file', HttpStatus.NOT_FOUND);
    void reply.headers(PAGE_HEADERS).type(file.type).send(file.body);
  }
}

function send(reply: FastifyReply, document: object): void {
  void reply.headers(PAGE_HEADERS).type('application/json').send(JSON.stringify(document));
}
